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
	Disabled bool             // the user, or a quarantine, switched it off
	Reason   string           // why it is disabled
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
	at := slices.IndexFunc(e, func(old Entry) bool { return i.same(&old) })
	if at < 0 {
		return Decision{Why: WhyNew}
	}
	old := e[at]
	d := Decision{Disabled: old.Disabled, Reason: old.Reason, Previous: &old, Changes: Diff(old.Request, i.Request), Undescribed: i.Request.Undescribed}
	if old.Name != i.Name {
		d.Changes = append([]Change{{true, "name", i.Name}, {false, "name", old.Name}}, d.Changes...)
	}
	grown := slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Added })
	switch {
	case old.Digest == i.Digest && !grown:
		return Decision{Approved: true, Grants: slices.Clone(old.Grants), Disabled: old.Disabled, Reason: old.Reason, Previous: &old}
	case grown:
		d.Why = WhyGrown
	default:
		d.Why = WhyChanged
	}
	return d
}
