package past

import "github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"

// Recall puts earlier prompts into an editor. After the latest one, the draft from before comes back. It is used from one goroutine.
type Recall struct {
	File *File

	at    int // from the end; 0: the draft
	draft edit.Editor
}

// Edited notes that the text in the editor is a draft now.
func (r *Recall) Edited() { r.at = 0 }

// Keep keeps a draft that the user discards, until a prompt is sent.
func (r *Recall) Keep(e *edit.Editor) {
	r.draft, r.at = *e, 0
}

// Sent forgets the draft.
func (r *Recall) Sent() { r.at, r.draft = 0, edit.Editor{} }

// Move goes back or forward.
func (r *Recall) Move(e *edit.Editor, by int) {
	entries := r.File.Entries()
	to := r.at - by
	switch {
	case to < 0:
		if e.Empty() && !r.draft.Empty() {
			*e = r.draft
		}
		return
	case to > len(entries):
		return
	}
	if r.at == 0 {
		r.draft = *e
	}
	if r.at = to; to == 0 {
		*e = r.draft
		return
	}
	e.Set(entries[len(entries)-to])
}
