package past

import "github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"

// Recall puts earlier prompts into an editor. After the latest one, the draft from before comes back. It is used from one goroutine.
type Recall struct {
	File *File

	at    int // from the end; 0: the draft
	draft string
}

// Edited notes that the text in the editor is a draft now.
func (r *Recall) Edited() { r.at = 0 }

// Keep keeps a draft that the user discards, until a prompt is sent.
func (r *Recall) Keep(e *edit.Editor) {
	text, _ := e.Text()
	r.draft, r.at = text, 0
}

// Sent forgets the draft.
func (r *Recall) Sent() { r.at, r.draft = 0, "" }

// Move goes back or forward.
func (r *Recall) Move(e *edit.Editor, by int) {
	entries := r.File.Entries()
	to := r.at - by
	switch {
	case to < 0:
		if r.draft != "" && e.Empty() {
			e.Set(r.draft)
		}
		return
	case to > len(entries):
		return
	}
	if r.at == 0 {
		text, files := e.Text()
		if len(files) > 0 {
			return
		}
		r.draft = text
	}
	if r.at = to; to == 0 {
		e.Set(r.draft)
		return
	}
	e.Set(entries[len(entries)-to])
}
