package host

import (
	"cmp"
	"context"
	"slices"

	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// rulesOf returns the permission rules of an agent in a session, as far as the user trusts them.
func (h *Host) rulesOf(g *generation.Set, a *sdk.Agent, s *sdk.Session) *permission.Rules {
	return h.compile(g, a, s, h.trusted)
}

// compile returns the permission rules of an agent in a session, of which the last that matches decides: the defaults, the agent's
// own, the user's, the user's for this agent, the session's.
//
// What the agent's own rules deny or ask for, the user's for all agents do not lift: an agent that is made to read does not write
// because agents in general may. What the user writes for this agent does. What the agent's rules allow counts before the user's; of an agent that a plugin of third parties
// brings it does not count at all: leave does not come from a publisher.
func (h *Host) compile(g *generation.Set, a *sdk.Agent, s *sdk.Session, trust func(sdk.PermissionRules) sdk.PermissionRules) *permission.Rules {
	home := h.opts.Project.Home
	own, general, named := trust(a.Permission), trust(g.Config.Permission), trust(g.Config.Agent[a.Name].Permission)
	managed := permission.Compile(home, h.opts.Managed)
	rules := permission.Compile(home, permission.Defaults(), own, general, named, s.Permission)
	if len(own) > 0 {
		bounds := permission.Compile(home, sdk.PermissionRules{everything("what the agent's rules leave alone")}, own, h.users(named), s.Permission)
		switch {
		case g.ByThirdParty(a.Name):
			rules = permission.Child(permission.Compile(home, permission.Defaults(), general, named, s.Permission), bounds)
		case a.Strict:
			managed = bounds.Within(managed)
		case len(general) > 0: // without any the bounds are never the stricter
			rules = permission.Child(bounds, rules)
		}
	}
	if denials := h.denials(slices.Concat(g.Config.Permission, g.Config.Agent[a.Name].Permission)); denials != nil {
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
func (h *Host) rulesIn(ctx context.Context, g *generation.Set, a *sdk.Agent, s *sdk.Session) (*permission.Rules, string, error) {
	return h.rulesUnder(ctx, g, a, s, h.trusted)
}

// rulesUnder is rulesIn with rules as far as trust lets them count.
func (h *Host) rulesUnder(ctx context.Context, g *generation.Set, a *sdk.Agent, s *sdk.Session, trust func(sdk.PermissionRules) sdk.PermissionRules) (*permission.Rules, string, error) {
	own := h.compile(g, a, s, trust)
	if s.ParentID == "" {
		return own, a.Name, nil
	}
	parent, err := h.Session(ctx, s.ParentID)
	if err != nil {
		return nil, "", err
	}
	pa, err := g.Agent(cmp.Or(parent.Agent, sdk.AgentBuild))
	if err != nil {
		return nil, "", err
	}
	rules, path, err := h.rulesUnder(ctx, g, &pa, parent, trust)
	if err != nil {
		return nil, "", err
	}
	return permission.Child(rules, own), path + "/" + a.Name, nil
}
