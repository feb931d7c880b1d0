package past

import "github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"

// Recall puts earlier prompts into an editor. After the latest one, it restores the draft. Use it from one goroutine.
type Recall struct {
	File *File

	at    int // from the end; 0: the draft
	draft edit.Editor
}

// Edited marks the text in the editor as the draft.
func (r *Recall) Edited() { r.at = 0 }

// Keep stores a draft that the user discards, until a prompt is sent.
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
