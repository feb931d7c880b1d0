package model

import (
	"context"
	"errors"
	"fmt"
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
	Source string // how its provider is reached: a variable, the configuration, an address; or the variables it needs
	Served bool   // listed by the server and not in the tables or the configuration
}

// ListOptions widens a listing.
type ListOptions struct {
	All     bool // list providers without a key, too
	Refresh bool // ask the servers that can list their models
	// Configured asks the servers whose address is in the configuration, and adds their models.
	Configured bool
}

const (
	// configuredTimeout bounds the wait for the list of a server that the configuration names.
	configuredTimeout = 3 * time.Second
	// choiceTimeout bounds the wait for such a server when the default model is chosen, at each start.
	choiceTimeout = time.Second
	// refreshTimeout bounds the wait for a list that the user asks for. The longest known list has 3 MiB.
	refreshTimeout = time.Minute
)

// List lists the models of the providers that can be used: configured ones, those with a key, local servers that answer, and those without a
// key. The errors are from servers that were asked.
func (m *Models) List(ctx context.Context, o ListOptions) (out []Info, err error) {
	local := m.askServers(ctx, func(p *provider) bool { return p.info.Local })
	lists, errs := make([][]Info, len(m.order)), make([]error, len(m.order))
	var asked sync.WaitGroup
	for i, id := range m.order {
		// A provider without approval or a key is not listed.
		if m.enabled(id) && m.receivers.check(ctx, m, id, false) == nil && (m.providers[id].source() != "" || o.All) {
			asked.Go(func() { lists[i], errs[i] = m.listOf(ctx, id, o, local[id]) }) // ends with the requests; waited for below
		}
	}
	asked.Wait()
	return slices.Concat(lists...), errors.Join(errs...)
}

// listOf lists the models of one provider; local are those that it listed as a local server.
func (m *Models) listOf(ctx context.Context, id string, o ListOptions, local []sdk.Model) (out []Info, err error) {
	p := m.providers[id]
	add := func(model sdk.Model, served bool) {
		info := Info{complete(model, id, model.ID), p.source(), served}
		switch {
		case info.Source != "":
		case p.info.PublicKey != "" && p.free(model.ID):
			info.Source = "free, without a key"
		case len(p.info.Env) > 0:
			info.Source = "needs " + strings.Join(p.info.Env, " or ")
		}
		out = append(out, info)
	}
	known := p.models()
	refresh := o.Refresh && p.source() != ""
	var served []sdk.Model
	switch {
	case p.info.Local && !p.configured:
		served, known = local, nil
	case refresh:
		served, err = m.served(ctx, id, refreshTimeout)
	case o.Configured && p.addressed:
		served, err = m.served(ctx, id, configuredTimeout)
	}
	for _, model := range served {
		if _, ok := known[model.ID]; (!ok || refresh) && m.listed(id, model.ID) {
			add(model, !ok && known != nil)
		}
	}
	if !refresh || len(served) == 0 {
		for _, model := range known {
			add(model, false)
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Model.ID, b.Model.ID) })
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

// served returns the models that a provider's server lists within a time limit, described as in the catalog; none if it cannot list.
func (m *Models) served(ctx context.Context, id string, limit time.Duration) ([]sdk.Model, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p := m.providers[id]
	list, err := m.list(limited, id)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("provider %s: no list of models within %s", id, limit)
	}
	known := p.models()
	if p.info.AccountModels {
		known = m.accountModels(p, list)
	}
	for i := range list {
		if known, ok := known[list[i].ID]; ok {
			list[i] = known
		}
	}
	return list, err
}

// askServers asks the servers of some providers for their models in parallel. The result lacks those that do not answer.
func (m *Models) askServers(ctx context.Context, some func(p *provider) bool) map[string][]sdk.Model {
	out := map[string][]sdk.Model{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, id := range m.order {
		p := m.providers[id]
		if !m.enabled(id) || !some(p) {
			continue
		}
		limit := choiceTimeout
		if p.info.Local {
			limit = localTimeout
		}
		asked.Go(func() { // ends after the limit at the latest; waited for below
			if found, err := m.served(ctx, id, limit); err == nil {
				mu.Lock()
				defer mu.Unlock()
				out[id] = slices.DeleteFunc(found, func(model sdk.Model) bool { return !m.listed(id, model.ID) })
			}
		})
	}
	asked.Wait()
	return out
}
