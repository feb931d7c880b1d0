package past

import (
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

// A draft comes back from the history, and after ctrl+c, with its pastes and files.
func TestDraftKeepsItsChips(t *testing.T) {
	t.Parallel()
	r, e := History{Entries: []string{"earlier"}}, &edit.Editor{}
	e.InsertChip(edit.Chip{Label: "[Pasted 9 lines]", Text: "pasted"})
	e.InsertChip(edit.Chip{Label: "[a.png]", File: "/a.png"})
	want := e.Before()
	check := func(when string) {
		t.Helper()
		if text, files := e.Text(); e.Before() != want || text != "pasted" || len(files) != 1 {
			t.Errorf("%s: %q, %q, %q", when, e.Before(), text, files)
		}
	}
	r.Move(e, -1)
	r.Move(e, -1) // nothing is earlier
	if text, _ := e.Text(); text != "earlier" {
		t.Errorf("the history shows %q", text)
	}
	r.Move(e, 1)
	check("behind the history")
	r.Keep(e)
	e.Set("")
	r.Move(e, 1)
	check("discarded")
	r.Sent()
	e.Set("")
	if r.Move(e, 1); !e.Empty() {
		t.Error("a prompt that was sent came back as a draft")
	}
}
