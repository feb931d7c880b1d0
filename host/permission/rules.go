package permission

import (
	"iter"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Rules is a compiled list of rules. It does not change and may be used from many goroutines. The zero value asks for
// everything.
type Rules struct {
	rules  []rule
	parent *Rules // of a subagent: rules that hold as well
	bound  *Rules // of an administrator: their denials and questions hold
}

type rule struct {
	sdk.PermissionRule
	permission wildcard
	pattern    wildcard
}

// Compile joins rule sets in their order: later ones win. home replaces ~ and $HOME at the start of a pattern, unless it is empty.
func Compile(home string, rulesets ...sdk.PermissionRules) *Rules {
	r := &Rules{}
	for _, rs := range rulesets {
		r.rules = slices.Grow(r.rules, len(rs))
		for _, pr := range rs {
			r.rules = append(r.rules, rule{PermissionRule: pr, permission: compilePattern(pr.Permission), pattern: compilePattern(expandHome(pr.Pattern, home))})
		}
	}
	return r
}

// Child returns the rules of a subagent: of the decisions by its rules and by its parent's, the stricter holds. So a subagent never does anything that
// its parent may not do, or must ask for, without asking.
func Child(parent, child *Rules) *Rules {
	c := *child
	if c.parent != nil {
		parent = Child(parent, c.parent)
	}
	c.parent = parent
	return &c
}

// Within returns the rules bound by others, such as an administrator's: denials and questions of bound hold, whatever r decides. r decides about
// the requests that bound allows. Earlier bounds hold, too.
func (r *Rules) Within(bound *Rules) *Rules {
	if bound == nil || len(bound.rules) == 0 {
		return r
	}
	c := *r
	c.bound = bound.Within(r.bound)
	return &c
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
	// that it steers agents. Empty for other files and permissions.
	Guarded string

	by *rule // that decided, in its list; nil if none matched
}

// Decide returns the decision about one pattern: a path, a command, a URL.
func (r *Rules) Decide(permission, pattern string) Decision {
	permission, pattern = normal(permission), normal(pattern)
	return guard(r.decide(permission, pattern), permission, pattern)
}

func (r *Rules) decide(permission, pattern string) Decision {
	d := Decision{Action: sdk.ActionAsk, Index: -1}
	for i, rule := range r.candidates(permission) {
		if rule.pattern.match(pattern) && rule.applies(permission) {
			d = Decision{Action: rule.Action, Matched: true, Rule: rule.PermissionRule, Index: i, by: rule}
			break
		}
	}
	if r.parent != nil {
		p := r.parent.decide(permission, pattern)
		p.Depth++
		if strictness(p.Action) > strictness(d.Action) || p.Final && p.Action == d.Action {
			d = p
		}
	}
	if r.bound == nil {
		return d
	}
	b := r.bound.decide(permission, pattern)
	b.Final = true
	if b.Matched && b.Action != sdk.ActionAllow && strictness(b.Action) >= strictness(d.Action) {
		return b
	}
	return d
}

// applies reports whether the rule may decide about a permission that it matches. A wildcard does not allow commands to leave the sandbox: only
// a rule with the name of that permission does.
func (r *rule) applies(permission string) bool {
	return r.permission.literal || r.Action != sdk.ActionAllow || permission != sdk.PermissionUnconfined
}

// candidates yields the rules whose permission matches with their indices, last first.
func (r *Rules) candidates(permission string) iter.Seq2[int, *rule] {
	return func(yield func(int, *rule) bool) {
		for i := len(r.rules) - 1; i >= 0; i-- {
			if one := &r.rules[i]; one.permission.match(permission) && !yield(i, one) {
				return
			}
		}
	}
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

// Combine joins the actions of several patterns by the same law.
func Combine(actions ...sdk.Action) sdk.Action {
	all := sdk.ActionAllow
	for _, a := range actions {
		if strictness(a) > strictness(all) {
			all = a
		}
	}
	if len(actions) == 0 {
		return sdk.ActionAsk
	}
	return all
}

// Step is one rule that matches, as an explanation for users.
type Step struct {
	Rule  sdk.PermissionRule
	Index int
	Depth int  // whose list, as in Decision; -1: the administrator's
	Wins  bool // the rule that decides; at most one
}

// Explain returns all matching rules in the order of reading: the parent's after the subagent's own, an administrator's after the list that they
// bound.
func (r *Rules) Explain(permission, pattern string) []Step {
	permission, pattern = normal(permission), normal(pattern)
	return r.explain(permission, pattern, 0, r.decide(permission, pattern).by)
}

func (r *Rules) explain(permission, pattern string, depth int, winner *rule) []Step {
	var steps []Step
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.permission.match(permission) && rule.pattern.match(pattern) && rule.applies(permission) {
			steps = append(steps, Step{Rule: rule.PermissionRule, Index: i, Depth: depth, Wins: rule == winner})
		}
	}
	if r.parent != nil {
		steps = append(steps, r.parent.explain(permission, pattern, depth+1, winner)...)
	}
	if r.bound != nil {
		steps = append(steps, r.bound.explain(permission, pattern, -1, winner)...)
	}
	return steps
}

// Removed reports whether the tool is hidden from the model: the last rule for its permission denies
// everything, so that asking for it would be a wasted step.
func (r *Rules) Removed(tool string) bool {
	if r == nil {
		return false
	}
	for _, rule := range r.candidates(normal(Key(tool))) {
		if rule.Action == sdk.ActionDeny && rule.pattern.anything {
			return true
		}
		break // only the last one counts
	}
	return r.parent.Removed(tool) || r.bound.Removed(tool)
}

// Rules returns the list as it was written, without a parent's. It is the caller's.
func (r *Rules) Rules() sdk.PermissionRules {
	out := make(sdk.PermissionRules, 0, len(r.rules))
	for i := range r.rules {
		out = append(out, r.rules[i].PermissionRule)
	}
	return out
}

// Key returns the permission a tool is decided under: all tools that change files share edit.
func Key(tool string) string {
	switch strings.ToLower(tool) {
	case "write", "patch", "multiedit", "apply_patch":
		return "edit"
	}
	return tool
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
