package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// Problem is a part of the configuration that does not work.
type Problem struct {
	Key      string // such as model or provider.mine
	Provider string // ID; empty for other parts
	Err      error
	// Origin is where the agent or command with the problem is defined; empty for other parts.
	Origin string
	// Warning is set if the part may work in spite of the problem.
	Warning bool
}

// Message returns the problem without the words that all of them share.
func (p *Problem) Message() string {
	text := strings.TrimPrefix(p.Err.Error(), ErrModel.Error()+": ")
	return strings.TrimPrefix(text, fmt.Sprintf("provider %q: ", p.Provider))
}

// Check returns the problems of the configured providers and models, and of those that agents and commands name, by key: unknown names and
// protocols, missing addresses and keys. It sends nothing.
func (m *Models) Check(ctx context.Context, contributed map[string]string) (out []Problem) {
	reported := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(m.o.Config.Provider)) {
		if !m.enabled(id) {
			continue
		}
		if _, err := m.client(ctx, id, nil); err != nil {
			reported[err.Error()] = true
			out = append(out, Problem{Key: checked.Join("provider", id), Provider: id, Err: err, Warning: errors.Is(err, ErrReceiver)})
		}
	}
	unknown := func(key string, ids []string) {
		for _, id := range ids {
			if m.providers[id] == nil {
				out = append(out, Problem{Key: key, Err: fmt.Errorf("unknown provider %q; %s", id, m.suggestion(id)), Warning: true})
			}
		}
	}
	unknown("enabled_providers", m.o.Config.EnabledProviders)
	unknown("disabled_providers", m.o.Config.DisabledProviders)
	models := named(m.o.Config)
	maps.Copy(models, contributed)
	for _, key := range slices.Sorted(maps.Keys(models)) {
		if models[key] == "" {
			continue
		}
		_, err := m.open(ctx, models[key], false)
		if problem := m.Doubt(models[key]); err == nil && problem != nil {
			out = append(out, Problem{Key: key, Err: problem, Warning: true})
		} else if err != nil && !reported[err.Error()] {
			out = append(out, Problem{Key: key, Err: err, Warning: errors.Is(err, ErrReceiver)})
		}
	}
	return out
}

// named returns the models that settings name, by the key of the setting; empty for none.
func named(c *sdk.Config) map[string]string {
	models := map[string]string{"model": c.Model, "small_model": c.SmallModel}
	for name, a := range c.Agent {
		models[checked.Join("agent", name)+".model"] = a.Model
	}
	for name, c := range c.Command {
		models[checked.Join("command", name)+".model"] = c.Model
	}
	return models
}

// Doubt returns an error if a model is not among the known models of its provider; the error names the most similar one. Such a model can
// still be used: it may be newer than the tables. It returns nil if the provider is unknown or no model of it is known.
func (m *Models) Doubt(name string) error {
	model, err := m.Resolve(name)
	if err != nil {
		return nil
	}
	known := m.providers[model.ProviderID].models()
	if _, ok := known[model.ID]; ok || len(known) == 0 {
		return nil
	}
	if near := nearest.Name(model.ID, slices.Collect(maps.Keys(known))); near != "" {
		return fmt.Errorf("model %s is unknown; did you mean %s/%s?", name, model.ProviderID, near)
	}
	return fmt.Errorf("model %s is unknown; tenon models %s lists the known ones", name, model.ProviderID)
}
