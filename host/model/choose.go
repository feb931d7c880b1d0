package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// Picked is the model a session starts with, and why.
type Picked struct {
	Model  sdk.Model
	Reason string // human-readable: "configured", "OPENAI_API_KEY is set", …
}

// Choose picks the model of a session that names none. A repository's choice must be approved.
func (m *Models) Choose(ctx context.Context) (Picked, error) {
	choice, err := m.pick(ctx)
	if err == nil {
		choice.Reason += m.providers[choice.Model.ProviderID].addressNote()
	}
	if err == nil && m.o.Own != nil {
		err = m.receivers.check(ctx, m, choice.Model.ProviderID, true)
	}
	return choice, err
}

// pick picks the configured model, else a model of a provider with a key, a sign-in or configured models, else of a server with an address in
// the configuration, else of a local server, else of the last provider that needs no key.
func (m *Models) pick(ctx context.Context) (Picked, error) {
	if name := m.o.Config.Model; name != "" {
		model, err := m.Resolve(name)
		return Picked{model, "model in the configuration"}, err
	}
	ignored := ""
	for _, id := range m.order {
		p := m.providers[id]
		if !m.enabled(id) || p.info.Local || !p.configured && p.keyFrom == "" {
			continue
		}
		if !p.configured && !p.signedIn && p.info.Default == "" { // the variable of its key, such as GITHUB_TOKEN, may be set for other programs
			ignored = cmp.Or(ignored, fmt.Sprintf("%s alone does not choose a model of %s", p.keyFrom, id))
			continue
		}
		if model, ok := m.defaultModel(p); ok {
			reason := "provider " + id + " is configured"
			if p.keyFrom != "" {
				reason = p.keyFrom + " is set"
			}
			if p.signedIn {
				reason = "signed in to " + id + " (" + p.keyFrom + ")"
			}
			return Picked{model, reason}, nil
		}
	}
	served := m.askServers(ctx, func(p *provider) bool { return p.info.Local || p.configured && p.addressed })
	for _, configured := range []bool{true, false} {
		for _, id := range m.order {
			if found, p := served[id], m.providers[id]; len(found) > 0 && p.configured == configured {
				return Picked{complete(found[0], id, found[0].ID), "a model server answers at " + secret.WithoutSecrets(p.info.BaseURL)}, nil
			}
		}
	}
	for _, id := range slices.Backward(m.order) {
		p := m.providers[id]
		if m.enabled(id) && !p.info.Local && !p.info.NoKey && len(p.info.Env) == 0 && p.info.BaseURL == "" {
			if model, ok := m.defaultModel(p); ok {
				return Picked{model, "no model is configured, " + cmp.Or(ignored, "no key is in the environment") + " and no model server answers"}, nil
			}
		}
	}
	return Picked{}, fmt.Errorf("%w: none is configured; set model in tenon.json or pass -m provider/model", ErrModel)
}

// defaultModel returns the provider's default, else the newest of its models that call tools. Of models of the same day, it returns
// the first by name.
func (m *Models) defaultModel(p *provider) (sdk.Model, bool) {
	if id := p.info.Default; id != "" && m.listed(p.info.ID, id) {
		return m.known(p.info.ID, id), true
	}
	models := p.models()
	rank := func(id string) string { // models that call no tools, such as for speech, come last
		if models[id].ToolCall {
			return "tools " + models[id].ReleaseDate
		}
		return ""
	}
	ids := slices.SortedFunc(maps.Keys(models), func(a, b string) int { return cmp.Or(strings.Compare(rank(b), rank(a)), strings.Compare(a, b)) })
	if len(ids) == 0 {
		return sdk.Model{}, false
	}
	return m.known(p.info.ID, ids[0]), true
}
