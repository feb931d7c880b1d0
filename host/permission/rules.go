package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/toolname"
	"github.com/tenonhq/tenon/sdk"
)

// Rules are compiled lists of rules; the strictest decision of the lists applies. They are immutable and safe for concurrent use. The zero
// value asks for everything.
type Rules struct {
	lists []list // first the agent's own, then those of its parents and of administrators
}

// list is one list of rules. The last rule that matches decides.
type list struct {
	rules []*rule
	depth int  // 0: the agent's own, 1: its parent's, and so on
	bound bool // an administrator's list: its denials and questions cannot be overridden, and it allows nothing
}

type rule struct {
	sdk.PermissionRule
	permission wildcard
	pattern    wildcard
	roots      []string // names of the project's directory, to whose files the absolute pattern applies; nil for other patterns
}

// NamesFiles reports whether the patterns of requests for the permission are paths, those of the project's files relative.
func NamesFiles(permission string) bool {
	return permission == "read" || permission == editKey || permission == "list"
}

// fits reports whether the rule applies to the pattern of a request. An absolute rule also applies to files of the project, whose patterns are
// relative.
func (r *rule) fits(permission, pattern string) bool {
	return r.pattern.match(pattern) || r.roots != nil && NamesFiles(permission) && filepath.IsLocal(pattern) &&
		slices.ContainsFunc(r.roots, func(root string) bool { return r.pattern.match(path.Join(root, pattern)) })
}

// request returns the rule's pattern, or an example of it, in the form of requests for the permission: relative for files of the project.
func (r *rule) request(permission, pattern string) string {
	for _, root := range r.roots {
		if rest, inside := strings.CutPrefix(pattern, root+"/"); inside && NamesFiles(permission) {
			return rest
		}
	}
	return pattern
}

// Compile joins rule sets in order: later rules override earlier ones. home replaces ~ and $HOME at the start of a pattern, unless
// it is empty.
func Compile(home string, rulesets ...sdk.PermissionRules) *Rules {
	var own list
	for _, pr := range slices.Concat(rulesets...) {
		own.rules = append(own.rules, &rule{PermissionRule: pr, permission: compilePattern(pr.Permission), pattern: compilePattern(expandHome(pr.Pattern, home))})
	}
	return &Rules{[]list{own}}
}

// Child returns the rules of a subagent: the stricter of the decisions by its own and its parent's rules applies. So a subagent cannot do anything
// that its parent may not do, and must ask wherever its parent must.
func Child(parent, child *Rules) *Rules {
	lists, above := slices.Clone(child.lists), 1
	for _, l := range child.lists {
		above = max(above, l.depth+1)
	}
	for _, l := range parent.lists {
		l.depth += above
		lists = append(lists, l)
	}
	return &Rules{lists}
}

// Within returns the rules bound by others, such as an administrator's: denials and questions of bound apply, whatever r decides. r decides
// about the requests that bound allows. Earlier bounds still apply.
func (r *Rules) Within(bound *Rules) *Rules {
	lists := slices.Clone(r.lists)
	for _, l := range bound.lists {
		l.bound = true
		lists = append(lists, l)
	}
	return &Rules{lists}
}

// Decision is the judgement of the rules.
type Decision struct {
	Action  sdk.Action
	Matched bool // false: no rule matched, Action is ask
	// Rule is the deciding rule and Index its place in the list. Depth identifies the list: 0 the agent's own, 1 its parent's, and so on. It has
	// no meaning for an administrator's rule, see Final.
	Rule  sdk.PermissionRule
	Index int
	Depth int
	// Implied reports that a rule about something that the request includes asks or denies, see sdk.PermissionRequest.
	Implied bool
	// Final reports that an administrator's rule decided, or that Guarded is set: only the user's answer overrides it.
	Final bool
	// Guarded is the reason why editing a file asks in spite of rules that allow it: the name in its path that means that programs run it or
	// that it controls agents. Empty for other files and permissions.
	Guarded string

	by *rule // the deciding rule, in its list; nil if none matched
}

// AlwaysAsks reports whether a decision to ask requires the user's answer even if stored approvals cover the request.
func (d Decision) AlwaysAsks(r *sdk.PermissionRequest) bool {
	return d.Final || d.Implied || r.Verbatim != ""
}

// Decide returns the decision about one pattern: a path, a command, a URL.
func (r *Rules) Decide(permission, pattern string) Decision {
	permission, pattern = normal(permission), normal(pattern)
	return guard(r.decide(permission, pattern), permission, pattern)
}

func (r *Rules) decide(permission, pattern string) Decision {
	all := Decision{Action: sdk.ActionAsk, Index: -1}
	for i, l := range r.lists {
		d := l.decide(permission, func(one *rule) bool { return one.fits(permission, pattern) && one.applies(permission) })
		if i == 0 || d.overrides(&all) {
			all = d
		}
	}
	return all
}

// decide returns the decision of the last rule for the permission that fits.
func (l *list) decide(permission string, fits func(*rule) bool) Decision {
	for i, one := range slices.Backward(l.rules) {
		if one.permission.match(permission) && fits(one) {
			return Decision{Action: one.Action, Matched: true, Rule: one.PermissionRule, Index: i, Depth: l.depth, Final: l.bound, by: one}
		}
	}
	return Decision{Action: sdk.ActionAsk, Index: -1, Depth: l.depth, Final: l.bound}
}

// overrides reports whether a decision replaces the decision of earlier lists. Of two questions, an administrator's takes precedence, else the one
// about something by name.
func (d *Decision) overrides(before *Decision) bool {
	more := strictness(d.Action) - strictness(before.Action)
	if d.Final {
		return d.Matched && d.Action != sdk.ActionAllow && more >= 0
	}
	return more > 0 || more == 0 && d.asksByName() && !before.asksByName() && !before.Final
}

// asksByName reports whether a rule asks for something by name, by a pattern other than *.
func (d *Decision) asksByName() bool {
	return d.Action == sdk.ActionAsk && d.Matched && d.Rule.Pattern != "*"
}

// applies reports whether the rule may decide about a permission that it matches. A wildcard does not allow commands to leave the sandbox: only
// a rule with the name of that permission does.
func (r *rule) applies(permission string) bool {
	return r.permission.literal || r.Action != sdk.ActionAllow || permission != sdk.PermissionUnconfined
}

// DecideAll returns the decision about a call with several patterns: the first denial, else the first question, else the last permission.
// Without patterns it is ask.
func (r *Rules) DecideAll(permission string, patterns []string) Decision {
	all := Decision{Action: sdk.ActionAsk, Index: -1}
	for i, pattern := range patterns {
		d := r.Decide(permission, pattern)
		if d.Action == sdk.ActionDeny {
			return d
		}
		if i == 0 || all.Action == sdk.ActionAllow || d.Final && d.Action == all.Action {
			all = d
		}
	}
	return all
}

// Combine joins the actions of several patterns as DecideAll does.
func Combine(actions ...sdk.Action) sdk.Action {
	if len(actions) == 0 {
		return sdk.ActionAsk
	}
	return slices.MaxFunc(actions, func(a, b sdk.Action) int { return strictness(a) - strictness(b) })
}

// DeniesByName reports whether a rule denies something by name, or is about tenon's own files. Rules that deny everything are ignored.
func (r *Rules) DeniesByName(permission, pattern string) bool {
	permission, pattern = normal(permission), normal(pattern)
	return slices.ContainsFunc(r.lists, func(l list) bool {
		d := l.decide(permission, func(one *rule) bool {
			return one.fits(permission, pattern) && (one.Action != sdk.ActionDeny || !one.pattern.anything())
		})
		return d.Action == sdk.ActionDeny || d.Rule.Origin == ownOrigin
	})
}

// Step is one rule that matches, as an explanation for users.
type Step struct {
	Rule  sdk.PermissionRule
	Index int
	Depth int  // whose list, as in Decision; -1: the administrator's
	Wins  bool // the rule that decides; at most one
}

// Explain returns the matching rules in the order of reading: the parent's after the subagent's own, an administrator's after the list that they
// bound. It omits rules of further lists that allow: they never decide, and the user did not write some of them (see Policy.denials).
func (r *Rules) Explain(permission, pattern string) (steps []Step) {
	permission, pattern = normal(permission), normal(pattern)
	winner := r.decide(permission, pattern).by
	for n, l := range r.lists {
		if l.bound {
			l.depth = -1
		}
		for i, rule := range l.rules {
			counts := n == 0 || rule.Action != sdk.ActionAllow
			if counts && rule.permission.match(permission) && rule.fits(permission, pattern) && rule.applies(permission) {
				steps = append(steps, Step{Rule: rule.PermissionRule, Index: i, Depth: l.depth, Wins: rule == winner})
			}
		}
	}
	return steps
}

// Removed reports whether the tool is hidden from the model: the last rule for its permission denies
// everything, so that asking for it would be a wasted step.
func (r *Rules) Removed(tool string) bool {
	key := normal(toolname.Permission(tool))
	return slices.ContainsFunc(r.lists, func(l list) bool {
		last := l.decide(key, func(*rule) bool { return true })
		return last.Action == sdk.ActionDeny && last.by.pattern.anything()
	})
}

// Rules returns the list as it was written, without a parent's. The caller owns the list.
func (r *Rules) Rules() sdk.PermissionRules {
	out := sdk.PermissionRules{}
	for _, one := range r.lists[0].rules {
		out = append(out, one.PermissionRule)
	}
	return out
}

// strictness orders actions. Anything unknown is as strict as deny: it must never allow.
func strictness(a sdk.Action) int {
	switch a {
	case sdk.ActionAllow:
		return 0
	case sdk.ActionAsk:
		return 1
	}
	return 2
}
