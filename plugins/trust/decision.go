package trust

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Why is the reason for which an item needs approval.
type Why string

// The reasons.
const (
	WhyNew     Why = "new"     // nothing was approved in this place
	WhyChanged Why = "changed" // its content is another
	WhyGrown   Why = "grown"   // it asks for more than was approved
)

// Decision is what the user decided about an item.
type Decision struct {
	Approved bool
	Grants   []sdk.Capability // what it may do; of an approved item
	Disabled bool             // the user switched it off: this content in this place, or, in an older version, its name
	Reason   string           // why it is disabled
	// Quarantined says why its hooks are not called; empty when they are. It is about this content in this place.
	Quarantined string
	Failures    map[string]int // in a row, by hook, in the runs before
	// What follows is for an item that needs approval.
	Why      Why
	Previous *Entry   // what was approved before in this place; nil when nothing
	Changes  []Change // between then and now
	// Undescribed is an item of which it is not known yet what it asks for: Changes are not complete.
	Undescribed bool
}

// Check says whether an item may run: whether exactly its content was approved, in its place, and it asks for no more than it did
// then.
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

// check compares an item with what was approved in its place.
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
