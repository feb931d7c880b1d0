package sqlite_test

import (
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// approved returns the approvals of a project, "permission pattern".
func (e *env) approved(project string) (out []string, ids []int64) {
	e.Helper()
	list, err := e.Approvals(e.Context(), project)
	e.must(err)
	for _, a := range list {
		out = append(out, a.Permission+" "+a.Pattern+" "+a.Session+" "+a.Origin)
		ids = append(ids, a.ID)
	}
	return out, ids
}

func testApprovals(t *testing.T, e *env) {
	approve := func(on *env, project, pattern, origin string) {
		t.Helper()
		e.must(on.Approve(t.Context(), []store.Approval{{Project: project, Permission: "bash", Pattern: pattern, Created: 5, Session: "ses_a", Origin: origin}}))
	}
	other := e.open()
	approve(e, "p", "b *", "first")
	approve(other, "p", "a *", "second")
	approve(other, "p", "b *", "again")
	approve(e, "q", "b *", "elsewhere")
	want := []string{"bash b * ses_a first", "bash a * ses_a second"}
	got, ids := e.approved("p")
	equal(t, "approvals", got, want)
	e.reopen()
	got, _ = e.approved("p")
	equal(t, "approvals, opened again", got, want)

	wantErr(t, "Forget in another project", failure(e.Forget(t.Context(), "q", ids[0])), store.ErrNotFound)
	gives(e, "forgotten", 1)(e.Forget(t.Context(), "p", ids[1]))
	wantErr(t, "Forget twice", failure(e.Forget(t.Context(), "p", ids[1])), store.ErrNotFound)
	approve(e, "p", "c *", "third")
	_, after := e.approved("p")
	if after[1] <= ids[1] {
		t.Errorf("the identifier %d of a forgotten approval is given again", after[1])
	}
	gives(e, "forgotten", 2)(e.Forget(t.Context(), "p", 0))
	gives(e, "nothing to forget", 0)(e.Forget(t.Context(), "p", 0))
	got, _ = e.approved("q")
	equal(t, "approvals of the other project", got, []string{"bash b * ses_a elsewhere"})
}
