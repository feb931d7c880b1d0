package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// listTimeout is the maximum time for the list of an account's models. Prompts wait for it.
const listTimeout = 15 * time.Second

// account holds the models that a server with AccountModels offers to the user's account. The server is asked once in a process.
type account struct {
	asking chan struct{}        // full while a goroutine uses the fields: one request serves all
	models map[string]sdk.Model // nil: not known
	noList bool                 // the server has no list, or did not answer in time
}

// offered returns the model as its server offers it to the user's account. Without a list, or after a failure that may pass, it is the model as
// described.
func (m *Models) offered(ctx context.Context, p *provider, model sdk.Model) (sdk.Model, error) {
	a := &p.account
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
	case <-ctx.Done():
		return model, ctx.Err()
	}
	if a.models == nil && !a.noList {
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		list, err := m.list(limited, p.info.ID)
		switch {
		case err == nil:
			a.models = m.accountModels(p, list)
		case ctx.Err() != nil:
			return model, ctx.Err()
		case noList(err), limited.Err() != nil:
			a.noList = true
		case Classify(err) != ClassRetry:
			return model, fmt.Errorf("list of models: %w", err)
		}
	}
	if a.models == nil {
		return model, nil
	}
	if found, ok := a.models[model.ID]; ok {
		return found, nil
	}
	return model, fmt.Errorf("%w: provider %q does not offer model %q to your account, whose plan or policies may exclude it; %s",
		ErrModel, p.info.ID, model.ID, nearest.Remedy(model.ID, slices.Collect(maps.Keys(a.models))))
}

// known returns the models of the account; nil if they are not known, or being requested.
func (a *account) known() map[string]sdk.Model {
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
		return a.models
	default:
		return nil
	}
}

// accountModels returns the models of a list, by ID, with the known data about them and the configuration applied. It includes the modes of listed
// models, and the configured models.
func (m *Models) accountModels(p *provider, list []sdk.Model) map[string]sdk.Model {
	listed, known := map[string]sdk.Model{}, maps.Clone(p.described())
	for _, one := range list {
		listed[one.ID] = one
		if _, ok := known[one.ID]; !ok {
			model := undescribed(&p.info, one.ID)
			model.Name = one.Name
			known[one.ID] = model
		}
	}
	configured := m.o.Config.Provider[p.info.ID].Models
	for id := range configured { // id may be another name of a listed model
		if _, ok := known[id]; !ok {
			known[id] = undescribed(&p.info, id)
		}
	}
	out := map[string]sdk.Model{}
	for id, model := range known {
		if one, ok := listed[cmp.Or(configured[id].ID, model.APIID, id)]; ok {
			out[id] = asListed(model, &one)
		}
	}
	return m.configureModels(p, out)
}

// asListed returns a model with what the server's list has of it. The list has no address.
func asListed(known sdk.Model, one *sdk.Model) sdk.Model {
	if one.Protocol != "" {
		known.Protocol, known.NPM, known.BaseURL = one.Protocol, "", ""
	}
	known.Limit = sdk.ModelLimit{
		Context: cmp.Or(one.Limit.Context, known.Limit.Context), Input: cmp.Or(one.Limit.Input, known.Limit.Input),
		Output: cmp.Or(one.Limit.Output, known.Limit.Output),
	}
	known.ToolCall = one.ToolCall
	if one.Modalities.Input != nil {
		known.Modalities.Input, known.Attachment = one.Modalities.Input, one.Attachment
	}
	if one.Reasoning {
		known.Reasoning = true
		if one.ReasoningOptions != nil {
			known.ReasoningOptions = one.ReasoningOptions
		}
	}
	return known
}

// list asks the server of a provider for its models. Errors: noList.
func (m *Models) list(ctx context.Context, id string) ([]sdk.Model, error) {
	client, err := m.client(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	lister, ok := client.(sdk.ModelLister)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	models, err := lister.ListModels(ctx)
	if refused, ok := errors.AsType[*sdk.ProviderError](err); ok {
		err = m.providers[id].explained(refused)
	}
	return models, err
}

// noList reports whether an error of list means that the server has none.
func noList(err error) bool {
	var refused *sdk.ProviderError
	missing := errors.As(err, &refused) && (refused.StatusCode == http.StatusNotFound || refused.StatusCode == http.StatusMethodNotAllowed)
	return missing || errors.Is(err, errors.ErrUnsupported)
}
