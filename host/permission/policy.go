package permission

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Policy decides which of the configured rules count, and in which order. Its functions must be quick and safe for use from many goroutines.
type Policy struct {
	Home string // that ~ in patterns stands for
	// Managed are an administrator's rules. What they deny or ask for holds against all others.
	Managed sdk.PermissionRules
	// Trust returns rules without what the user did not approve yet: rules of the repository that allow something ask instead. Nil: all count.
	Trust func(sdk.PermissionRules) sdk.PermissionRules
	// Own returns rules without what the repository allows, approved or not: such rules ask. Nil: all count.
	Own func(sdk.PermissionRules) sdk.PermissionRules
	// MayLift reports whether a rule may allow, or ask for, what an earlier rule denies. Nil: all may.
	MayLift func(sdk.PermissionRule) bool
}

// Sources are the rules that concern an agent in a session.
type Sources struct {
	Agent   sdk.PermissionRules // the agent's own
	General sdk.PermissionRules // of the configuration, for all agents
	Named   sdk.PermissionRules // of the configuration, for this agent
	Session sdk.PermissionRules
	// Strict keeps all others from lifting what the agent's own rules deny or ask for; ThirdParty is set when a plugin that is not built in brings the agent.
	Strict, ThirdParty bool
}

// Rules returns the permission rules of an agent in a session, of which the last that matches decides: the defaults, the agent's
// own, the user's, the user's for this agent, the session's.
//
// own is set where nothing that files of the repository allow counts, approved or not.
//
// What the agent's own rules deny or ask for, the user's for all agents do not lift: an agent that is made to read does not write
// because agents in general may. What the user writes for this agent does. What the agent's rules allow counts before the user's; of an agent that a plugin of third parties
// brings it does not count at all: leave does not come from a publisher.
func (p *Policy) Rules(s Sources, own bool) *Rules {
	trust := p.trusted
	if own {
		trust = p.ownRules
	}
	agents, general, named := trust(s.Agent), trust(s.General), trust(s.Named)
	managed := Compile(p.Home, p.Managed)
	rules := Compile(p.Home, Defaults(), agents, general, named, s.Session)
	if len(agents) > 0 {
		bounds := Compile(p.Home, sdk.PermissionRules{everything("what the agent's rules leave alone")}, agents, p.users(named), s.Session)
		switch {
		case s.ThirdParty:
			rules = Child(Compile(p.Home, Defaults(), general, named, s.Session), bounds)
		case s.Strict:
			managed = bounds.Within(managed)
		case len(general) > 0: // without any the bounds are never the stricter
			rules = Child(bounds, rules)
		}
	}
	if denials := p.denials(slices.Concat(s.General, s.Named)); denials != nil {
		rules = Child(Compile(p.Home, denials), rules)
	}
	return rules.Within(managed)
}

// everything is a rule that allows all, for a list that only takes from another.
func everything(origin string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: "*", Pattern: "*", Action: sdk.ActionAllow, Origin: origin}
}

// denials returns rules that deny what the user's rules do and allow the rest; nil when nothing in the list could lift a denial.
func (p *Policy) denials(list sdk.PermissionRules) sdk.PermissionRules {
	if p.MayLift == nil || !slices.ContainsFunc(list, func(r sdk.PermissionRule) bool { return r.Action == sdk.ActionDeny }) {
		return nil
	}
	out, held := sdk.PermissionRules{everything("what the user's rules do not deny")}, false
	for _, r := range list {
		switch {
		case r.Action == sdk.ActionDeny:
		case !p.MayLift(r):
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
func (p *Policy) users(rules sdk.PermissionRules) sdk.PermissionRules {
	as := slices.Clone(rules)
	for i := range as {
		as[i].Action = sdk.ActionAllow // which ownRules takes from a repository's
	}
	as = p.ownRules(as)
	var out sdk.PermissionRules
	for i, r := range rules {
		if as[i].Action == sdk.ActionAllow || r.Action == sdk.ActionDeny {
			out = append(out, r)
		}
	}
	return out
}

// trusted returns rules as far as the user lets their files allow something.
func (p *Policy) trusted(rules sdk.PermissionRules) sdk.PermissionRules {
	if p.Trust == nil {
		return rules
	}
	return p.Trust(rules)
}

// ownRules returns rules without what files of the repository allow.
func (p *Policy) ownRules(rules sdk.PermissionRules) sdk.PermissionRules {
	if p.Own == nil {
		return rules
	}
	return p.Own(rules)
}

// AskAll returns rules under which everything that they do not deny is asked for, which no rule, stored approval, hook or flag answers.
func (p *Policy) AskAll(rules *Rules, origin string) *Rules {
	ask := sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAsk, Origin: origin}}
	return rules.Within(Compile(p.Home, ask).Within(Compile(p.Home, p.Managed)))
}
