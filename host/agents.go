package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/model"
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
		a.Options = model.Merged(a.Options, c.Options)
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

// rulesOf returns the permission rules of an agent in a session, as far as the user trusts them.
func (h *Host) rulesOf(g *generation, a *sdk.Agent, s *sdk.Session) *permission.Rules {
	return h.compile(g, a, s, h.trusted)
}

// compile returns the permission rules of an agent in a session, of which the last that matches decides: the defaults, the agent's
// own, the user's, the user's for this agent, the session's.
//
// What the agent's own rules deny or ask for, the user's for all agents do not lift: an agent that is made to read does not write
// because agents in general may. What the user writes for this agent does. What the agent's rules allow counts before the user's; of an agent that a plugin of third parties
// brings it does not count at all: leave does not come from a publisher.
func (h *Host) compile(g *generation, a *sdk.Agent, s *sdk.Session, trust func(sdk.PermissionRules) sdk.PermissionRules) *permission.Rules {
	home := h.opts.Project.Home
	own, general, named := trust(a.Permission), trust(g.config.Permission), trust(g.config.Agent[a.Name].Permission)
	managed := permission.Compile(home, h.opts.Managed)
	rules := permission.Compile(home, permission.Defaults(), own, general, named, s.Permission)
	if len(own) > 0 {
		bounds := permission.Compile(home, sdk.PermissionRules{everything("what the agent's rules leave alone")}, own, h.users(named), s.Permission)
		switch {
		case h.brought(g, a.Name):
			rules = permission.Child(permission.Compile(home, permission.Defaults(), general, named, s.Permission), bounds)
		case a.Strict:
			managed = bounds.Within(managed)
		case len(general) > 0: // without any the bounds are never the stricter
			rules = permission.Child(bounds, rules)
		}
	}
	if denials := h.denials(slices.Concat(g.config.Permission, g.config.Agent[a.Name].Permission)); denials != nil {
		rules = permission.Child(permission.Compile(home, denials), rules)
	}
	return rules.Within(managed)
}

// everything is a rule that allows all, for a list that only takes from another.
func everything(origin string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: "*", Pattern: "*", Action: sdk.ActionAllow, Origin: origin}
}

// denials returns rules that deny what the user's rules do and allow the rest; nil when nothing in the list could lift a denial.
func (h *Host) denials(list sdk.PermissionRules) sdk.PermissionRules {
	if h.opts.MayLift == nil || !slices.ContainsFunc(list, func(r sdk.PermissionRule) bool { return r.Action == sdk.ActionDeny }) {
		return nil
	}
	out, held := sdk.PermissionRules{everything("what the user's rules do not deny")}, false
	for _, r := range list {
		switch {
		case r.Action == sdk.ActionDeny:
		case !h.opts.MayLift(r):
			held = true
			continue
		default:
			r.Action = sdk.ActionAllow
		}
		out = append(out, r)
	}
	if !held {
		return nil
	}
	return out
}

// users returns the rules that the user wrote and, of those that files of the repository brought, the ones that deny: a repository
// lifts nothing.
func (h *Host) users(rules sdk.PermissionRules) sdk.PermissionRules {
	as := slices.Clone(rules)
	for i := range as {
		as[i].Action = sdk.ActionAllow // which ownRules takes from a repository's
	}
	as = h.ownRules(as)
	var out sdk.PermissionRules
	for i, r := range rules {
		if as[i].Action == sdk.ActionAllow || r.Action == sdk.ActionDeny {
			out = append(out, r)
		}
	}
	return out
}

// brought reports whether an agent comes from a plugin of third parties.
func (h *Host) brought(g *generation, name string) bool {
	for _, l := range g.plugins {
		source, ok := l.plugin.(sdk.AgentSource)
		if !ok || l.builtin() {
			continue
		}
		list, _ := ask(h.ctx, h, l, "agents", func(context.Context) ([]sdk.Agent, error) { return source.Agents(), nil })
		if slices.ContainsFunc(list, func(a sdk.Agent) bool { return a.Name == name }) {
			return true
		}
	}
	return false
}

// trusted returns rules as far as the user lets their files allow something.
func (h *Host) trusted(rules sdk.PermissionRules) sdk.PermissionRules {
	if h.opts.TrustRules == nil {
		return rules
	}
	return h.opts.TrustRules(rules)
}

// ownRules returns rules without what files of the repository allow.
func (h *Host) ownRules(rules sdk.PermissionRules) sdk.PermissionRules {
	if h.opts.OwnRules == nil {
		return rules
	}
	return h.opts.OwnRules(rules)
}

// rulesIn returns the rules of an agent in a session and, for a subagent's session, within what its
// parent may do.
func (h *Host) rulesIn(ctx context.Context, g *generation, a *sdk.Agent, s *sdk.Session) (*permission.Rules, string, error) {
	return h.rulesUnder(ctx, g, a, s, h.trusted)
}

// rulesUnder is rulesIn with rules as far as trust lets them count.
func (h *Host) rulesUnder(ctx context.Context, g *generation, a *sdk.Agent, s *sdk.Session, trust func(sdk.PermissionRules) sdk.PermissionRules) (*permission.Rules, string, error) {
	own := h.compile(g, a, s, trust)
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
	rules, path, err := h.rulesUnder(ctx, g, &pa, parent, trust)
	if err != nil {
		return nil, "", err
	}
	return permission.Child(rules, own), path + "/" + a.Name, nil
}
