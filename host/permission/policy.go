package permission

import (
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Policy decides which of the configured rules count, and in which order. Its functions must be quick and safe for concurrent use.
type Policy struct {
	// Project has the home directory, for ~ in patterns; the working tree, to whose files absolute patterns apply, too; and tenon's directories.
	Project sdk.Project
	// Managed are an administrator's rules. Their denials and questions override all other rules, hooks, stored approvals and flags.
	Managed sdk.PermissionRules
	// Trust returns the author of a rule with this origin; digest is the digest of its file, empty if unknown. If nil, the user wrote all rules.
	Trust func(origin, digest string) Trust
	// TrustCommand returns the author of a command of a compiled-in plugin, which decides about the shell commands in its template. If nil, the
	// user wrote all commands.
	TrustCommand func(*sdk.Command) Trust
	// Unapproved is called with each rule that asks instead of allowing because its file is not approved. May be nil.
	Unapproved func(sdk.PermissionRule)
}

// Trust is the author of a rule or a command. The zero value is the user.
type Trust struct {
	Repository bool // a file of the repository
	Approved   bool // the user approved the file with its current content
}

// Sources are the rules that concern an agent in a session.
type Sources struct {
	Agent   sdk.PermissionRules // the agent's own
	General sdk.PermissionRules // of the configuration, for all agents
	Named   sdk.PermissionRules // of the configuration, for this agent
	Session sdk.PermissionRules
	// Strict keeps other rules from lifting denials and questions of the agent's own rules. ThirdParty reports that a third-party plugin
	// contributes the agent.
	Strict, ThirdParty bool
}

// Rules returns the permission rules of an agent in a session, of which the last that matches decides: the defaults, the agent's
// own, the user's, the user's for this agent, the session's.
//
// forTemplate is set for the template of a command of the repository: allow rules in its files do not count, approved or not.
//
// The user's rules for all agents do not override the agent's own deny and ask rules: a read-only agent must not write just because agents in
// general may. The user's rules for this agent override them. The agent's allow rules come before the user's; those of an agent from a
// third-party plugin do not count, because its publisher cannot grant permissions.
func (p *Policy) Rules(s Sources, forTemplate bool) *Rules {
	agents, general, named := p.hold(s.Agent, forTemplate), p.hold(s.General, forTemplate), p.hold(s.Named, forTemplate)
	managed := Compile(p.Project.Home, p.Managed)
	rules := Compile(p.Project.Home, Defaults(), agents, general, named, s.Session)
	if len(agents) > 0 {
		bounds := Compile(p.Project.Home, sdk.PermissionRules{everything("not covered by the agent's rules")}, agents, p.users(named), s.Session)
		switch {
		case s.ThirdParty:
			rules = Child(Compile(p.Project.Home, Defaults(), general, named, s.Session), bounds)
		case s.Strict:
			managed = bounds.Within(managed)
		case len(general) > 0: // without general rules, the bounds are never stricter
			rules = Child(bounds, rules)
		}
	}
	if denials := p.denials(slices.Concat(s.General, s.Named)); denials != nil {
		rules = Child(Compile(p.Project.Home, denials), rules)
	}
	return rules.Within(managed).Within(Compile("", ownFiles(&p.Project))).inProject(p.Project.Home, p.Project.Worktree)
}

// inProject makes absolute patterns of the rules apply to the files of a project, too. The path of worktree is real; that of home, with which
// patterns begin, may contain links.
func (r *Rules) inProject(home, worktree string) *Rules {
	roots := []string{normal(worktree)}
	if rest, err := filepath.Rel(projectfs.Real(home), worktree); err == nil && filepath.IsLocal(rest) {
		roots = slices.Compact(append(roots, normal(filepath.Join(home, rest))))
	}
	for _, l := range r.lists {
		for _, one := range l.rules {
			if filepath.IsAbs(one.pattern.pattern) {
				one.roots = roots
			}
		}
	}
	return r
}

// everything returns a rule that allows everything, for a list that only restricts another.
func everything(origin string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: "*", Pattern: "*", Action: sdk.ActionAllow, Origin: origin}
}

// denials returns rules with the denials of the user's rules that allow everything else; nil if nothing in the list could lift a denial.
func (p *Policy) denials(list sdk.PermissionRules) sdk.PermissionRules {
	out, denies, held := sdk.PermissionRules{everything("not denied by the user's rules")}, false, false
	for _, r := range list {
		switch {
		case r.Action == sdk.ActionDeny:
			denies = true
		case p.trust(r).Repository && !p.trust(r).Approved:
			held = true
			continue
		default:
			r.Action = sdk.ActionAllow
		}
		out = append(out, r)
	}
	if !denies || !held {
		return nil
	}
	return out
}

// users returns the user's rules, and the repository's rules that deny: a repository cannot lift a denial.
func (p *Policy) users(rules sdk.PermissionRules) sdk.PermissionRules {
	return slices.DeleteFunc(slices.Clone(rules), func(r sdk.PermissionRule) bool {
		return r.Action != sdk.ActionDeny && p.trust(r).Repository
	})
}

// hold returns the rules, modified so that the repository's rules ask instead of allowing unless they are approved; for a template, even
// if they are approved.
func (p *Policy) hold(rules sdk.PermissionRules, forTemplate bool) sdk.PermissionRules {
	out := slices.Clone(rules)
	for i := range out {
		r := &out[i]
		if r.Action != sdk.ActionAllow {
			continue
		}
		switch t := p.trust(*r); {
		case !t.Repository || t.Approved && !forTemplate:
			continue
		case forTemplate:
			r.Origin += " (of the repository, as the command is)"
		default:
			if p.Unapproved != nil {
				p.Unapproved(*r)
			}
			r.Origin += " (not approved: asks instead of allowing)"
		}
		r.Action, r.Held = sdk.ActionAsk, true
	}
	return out
}

func (p *Policy) trust(r sdk.PermissionRule) Trust {
	if p.Trust == nil {
		return Trust{}
	}
	return p.Trust(r.Origin, r.Digest)
}

// OfCommand returns the author of a command.
func (p *Policy) OfCommand(c *sdk.Command) Trust {
	if p.TrustCommand == nil {
		return Trust{}
	}
	return p.TrustCommand(c)
}

// AskAll returns rules that ask the user for everything that the given rules do not deny, whatever they, stored approvals, hooks or flags
// allow.
func (r *Rules) AskAll(origin string) *Rules {
	return r.Within(Compile("", sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAsk, Origin: origin}}))
}
