package model

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// localTimeout bounds the search for model servers on this machine, which respond within milliseconds.
const localTimeout = 300 * time.Millisecond

// Info is one model that can be used, for listings.
type Info struct {
	Model  sdk.Model
	Source string // how its provider is reached: a variable, the configuration, an address
}

// ListOptions widens a listing.
type ListOptions struct {
	All     bool // list providers without a key, too
	Refresh bool // ask the servers that can list their models
}

// List lists the models of the providers that can be reached: configured ones, those whose key is
// there, local servers that answer, and those that need nothing. Errors are those of servers that were asked.
func (m *Models) List(ctx context.Context, o ListOptions) (out []Info, err error) {
	m.findLocal(ctx)
	for _, id := range m.order {
		p := m.providers[id]
		if !m.enabled(id) {
			continue
		}
		if m.receivers.check(ctx, m, id, false) != nil {
			continue // not approved: it is as if it were not there
		}
		source := p.source()
		if source == "" && !o.All {
			continue // it has no key
		}
		var list []sdk.Model
		switch {
		case p.info.Local && !p.configured:
			m.mu.Lock()
			list = m.local[id]
			m.mu.Unlock()
		case o.Refresh && source != "":
			var failed error
			if list, failed = m.served(ctx, id); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		if len(list) == 0 && !p.info.Local {
			list = slices.Collect(maps.Values(p.models()))
		}
		slices.SortFunc(list, func(a, b sdk.Model) int { return strings.Compare(a.ID, b.ID) })
		for _, model := range list {
			out = append(out, Info{complete(model, id, model.ID), source})
		}
	}
	return out, err
}

// source returns how the provider is reached, or "" if it has no key.
func (p *provider) source() string {
	switch {
	case p.keyFrom != "":
		return p.keyFrom + p.addressNote()
	case p.info.Local && !p.configured:
		return p.info.BaseURL
	case p.configured:
		return "configuration"
	case len(p.info.Env) > 0 || p.info.NoKey:
		return ""
	}
	return "built in"
}

// Providers returns the providers that may be used, without models and keys.
func (m *Models) Providers() []sdk.ProviderInfo {
	var out []sdk.ProviderInfo
	for _, id := range m.order {
		if m.enabled(id) {
			info := m.providers[id].info
			info.Key = ""
			out = append(out, info)
		}
	}
	return out
}

// served returns the models that a provider's server lists, with what the catalog knows of them; none if it cannot list.
func (m *Models) served(ctx context.Context, id string) ([]sdk.Model, error) {
	client, err := m.client(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	lister, ok := client.(sdk.ModelLister)
	if !ok {
		return nil, nil
	}
	list, err := lister.ListModels(ctx)
	for i := range list {
		if known, ok := m.providers[id].models()[list[i].ID]; ok {
			list[i] = known
		}
	}
	return list, err
}

// findLocal asks the local servers for their models, all at once, and takes the first in order.
func (m *Models) findLocal(ctx context.Context) (sdk.Model, bool) {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for _, id := range m.order {
		if m.providers[id].info.Local && m.enabled(id) {
			asked.Go(func() { m.listLocal(ctx, id) }) // ends with ctx at the latest; waited for below
		}
	}
	asked.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.order {
		if found := m.local[id]; len(found) > 0 {
			return found[0], true
		}
	}
	return sdk.Model{}, false
}

// listLocal asks one local server for its models and keeps them.
func (m *Models) listLocal(ctx context.Context, id string) {
	client, err := m.client(ctx, id, nil)
	if err != nil {
		return
	}
	lister, ok := client.(sdk.ModelLister)
	if !ok {
		return
	}
	found, err := lister.ListModels(ctx)
	if err != nil {
		return // not there: what the search is for
	}
	for i := range found {
		if known, ok := m.providers[id].models()[found[i].ID]; ok {
			found[i] = known
		}
		found[i] = complete(found[i], id, found[i].ID)
	}
	m.mu.Lock()
	m.local[id] = found
	m.mu.Unlock()
}
