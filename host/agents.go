package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// agents returns the agents by the order of their plugins, with the configuration applied: a plugin's
// agent replaces an earlier one of the same name, the configuration changes or adds one.
func (h *Host) agents(g *generation) []sdk.Agent {
	var out []sdk.Agent
	at := func(name string) int {
		return slices.IndexFunc(out, func(a sdk.Agent) bool { return a.Name == name })
	}
	for _, l := range g.plugins {
		source, ok := l.plugin.(sdk.AgentSource)
		if !ok {
			continue
		}
		list, _ := ask(h.ctx, h, l, "agents", func(context.Context) ([]sdk.Agent, error) { return source.Agents(), nil })
		for _, a := range list {
			if i := at(a.Name); i >= 0 {
				out[i] = a
				continue
			}
			out = append(out, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.config.Agent)) {
		c := g.config.Agent[name]
		i := at(name)
		switch {
		case c.Disable && i >= 0:
			out = slices.Delete(out, i, i+1)
		case c.Disable:
		case i >= 0:
			out[i] = configureAgent(out[i], c)
		default:
			out = append(out, configureAgent(sdk.Agent{Name: name, Mode: sdk.ModeAll, Origin: "configuration"}, c))
		}
	}
	return out
}

// configureAgent applies what the configuration says of an agent. Its permission rules are applied by
// rulesOf, behind the ones for all agents.
func configureAgent(a sdk.Agent, c sdk.AgentConfig) sdk.Agent {
	a.Description = cmp.Or(c.Description, a.Description)
	a.Mode = cmp.Or(c.Mode, a.Mode)
	a.Prompt = cmp.Or(c.Prompt, a.Prompt)
	a.Variant = cmp.Or(c.Variant, a.Variant)
	a.Color = cmp.Or(c.Color, a.Color)
	a.Steps = cmp.Or(c.Steps, c.MaxSteps, a.Steps)
	if providerID, id, ok := strings.Cut(c.Model, "/"); ok {
		a.Model = &sdk.ModelRef{ProviderID: providerID, ModelID: id}
	}
	if c.Temperature != nil {
		a.Temperature = c.Temperature
	}
	if c.TopP != nil {
		a.TopP = c.TopP
	}
	if c.Hidden != nil {
		a.Hidden = *c.Hidden
	}
	if c.Options != nil {
		a.Options = merged(a.Options, c.Options)
	}
	return a
}

// agent returns an agent by name.
func (h *Host) agent(g *generation, name string) (sdk.Agent, error) {
	list := h.agents(g)
	var names []string
	for _, a := range list {
		if a.Name == name {
			return a, nil
		}
		if !a.Hidden {
			names = append(names, a.Name)
		}
	}
	return sdk.Agent{}, fmt.Errorf("agent %q: %w; the agents are %s", name, ErrNotFound, strings.Join(names, ", "))
}

// Agents lists the agents.
func (h *Host) Agents() []sdk.Agent {
	g := h.acquire()
	defer h.release(g)
	return h.agents(g)
}

// defaultPrompt is the system prompt of agents without one: the default agent's.
func (h *Host) defaultPrompt(g *generation) string {
	a, err := h.agent(g, sdk.AgentBuild)
	if err != nil {
		return "" // no plugin contributes agents
	}
	return a.Prompt
}

// rulesOf returns the permission rules of an agent in a session, of which the last that matches decides:
// the defaults, the agent's own, the user's, the user's for this agent, the session's.
func (h *Host) rulesOf(g *generation, a *sdk.Agent, s *sdk.Session) *permission.Rules {
	home := h.opts.Project.Home
	return permission.Compile(
		home, permission.Defaults(), h.trusted(a.Permission), h.trusted(g.config.Permission), h.trusted(g.config.Agent[a.Name].Permission), s.Permission,
	).Within(permission.Compile(home, h.opts.Managed))
}

// trusted returns rules as far as the user lets their files allow something.
func (h *Host) trusted(rules sdk.PermissionRules) sdk.PermissionRules {
	if h.opts.TrustRules == nil {
		return rules
	}
	return h.opts.TrustRules(rules)
}

// rulesIn returns the rules of an agent in a session and, for a subagent's session, within what its
// parent may do.
func (h *Host) rulesIn(ctx context.Context, g *generation, a *sdk.Agent, s *sdk.Session) (*permission.Rules, string, error) {
	own := h.rulesOf(g, a, s)
	if s.ParentID == "" {
		return own, a.Name, nil
	}
	parent, err := h.Session(ctx, s.ParentID)
	if err != nil {
		return nil, "", err
	}
	pa, err := h.agent(g, cmp.Or(parent.Agent, sdk.AgentBuild))
	if err != nil {
		return nil, "", err
	}
	rules, path, err := h.rulesIn(ctx, g, &pa, parent)
	if err != nil {
		return nil, "", err
	}
	return permission.Child(rules, own), path + "/" + a.Name, nil
}
