package model

import (
	"context"
	"maps"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// Small returns the model for titles: the configured one, the one that the hooks choose, the small model of the provider, or the
// given model itself.
func (m *Models) Small(ctx context.Context, of sdk.Model) (sdk.Model, error) {
	if name := m.o.Config.SmallModel; name != "" {
		model, err := m.Resolve(name)
		if err == nil && m.o.Own != nil {
			err = m.receivers.check(ctx, m, model.ProviderID, true)
		}
		return model, err
	}
	p := m.providers[of.ProviderID]
	v := &sdk.SmallModelValue{}
	if id := m.smallID(p, &of); id != "" {
		v.Model = &sdk.ModelRef{ProviderID: p.info.ID, ModelID: id}
	}
	if m.o.Engine.Has(sdk.PointSmallModel) {
		in := &sdk.SmallModelInput{Provider: ProviderRef(&p.info)}
		if _, err := m.o.Engine.Transform(ctx, sdk.PointSmallModel, hooks.Scope{}, in, v); err != nil {
			return of, err
		}
	}
	if v.Model == nil {
		return of, nil
	}
	return m.Resolve(v.Model.String())
}

// smallID returns the ID of the small model for another model of its provider: the provider's own, else the one of the rules; empty without
// one.
func (m *Models) smallID(p *provider, of *sdk.Model) string {
	if id := p.info.Small; id != "" && m.listed(p.info.ID, id) {
		return id
	}
	models := p.account.known()
	switch {
	case models != nil:
	case p.addressed: // a server at the user's address may not have the provider's models
		return ""
	default:
		models = p.models()
	}
	if p.keyFrom == "" && p.info.PublicKey != "" {
		models = maps.Clone(models)
		maps.DeleteFunc(models, func(id string, _ sdk.Model) bool { return !p.free(id) })
	}
	for _, r := range m.o.Catalogs {
		if id := r.SmallModel(&p.info, of, models); id != "" {
			return id
		}
	}
	return ""
}

// LeastEffort returns the variant of a model with little reasoning, or "".
func LeastEffort(m *sdk.Model) string {
	for _, effort := range []string{"none", "minimal", "low"} {
		if _, ok := m.Variants[effort]; ok {
			return effort
		}
	}
	return ""
}
