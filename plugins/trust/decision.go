package trust

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Why is the reason for which an item needs approval.
type Why string

// The reasons.
const (
	WhyNew     Why = "new"     // nothing was approved at this path
	WhyChanged Why = "changed" // its content changed
	WhyGrown   Why = "grown"   // it asks for more than was approved
)

// Decision is the user's decision about an item.
type Decision struct {
	Approved bool
	Grants   []sdk.Capability // rights of an approved item
	Disabled bool             // switched off by the user: this content at this path, or, by an older version, its name
	Reason   string           // why it is disabled
	// Quarantined is the reason why its hooks are not called; empty if they are. It applies to this content at this path.
	Quarantined string
	Failures    map[string]int // in a row, by hook, in the runs before
	// The following fields are for an item that needs approval.
	Why      Why
	Previous *Entry   // the earlier approval at this path; nil if none
	Changes  []Change // between then and now
	// Undescribed marks an item whose requests are not known yet: Changes are incomplete.
	Undescribed bool
}

// Check reports whether an item may run: its content was approved at its path, and it asks for no more than it did then.
func (e Entries) Check(i Item) Decision {
	d := Decision{Why: WhyNew}
	if at := slices.IndexFunc(e, func(old Entry) bool { return i.same(&old) }); at >= 0 {
		d = e[at].check(i)
	}
	if at := slices.IndexFunc(e, func(old Entry) bool { return old.everywhere() && old.Name == i.Name }); at >= 0 {
		d.Disabled, d.Reason = true, e[at].Reason
	}
	return d
}

// check compares an item with the approval at its path.
func (old Entry) check(i Item) Decision {
	same := old.Digest == i.Digest
	d := Decision{Previous: &old, Changes: Diff(old.Request, i.Request), Undescribed: i.Request.Undescribed}
	if old.Name != i.Name {
		d.Changes = append([]Change{{true, "name", i.Name}, {false, "name", old.Name}}, d.Changes...)
	}
	if same {
		d.Disabled, d.Reason, d.Quarantined, d.Failures = old.Disabled, old.Reason, old.Quarantined, old.Failures
	}
	grown := slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Added })
	switch {
	case same && !grown:
		d.Approved, d.Grants, d.Changes, d.Undescribed = true, slices.Clone(old.Grants), nil, false
	case grown:
		d.Why = WhyGrown
	default:
		d.Why = WhyChanged
	}
	return d
}
