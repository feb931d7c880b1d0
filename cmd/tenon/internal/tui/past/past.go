// Package past stores the user's prompts, for all projects.
package past

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/internal/atomicfile"
)

const (
	// Name is the name of the history in the data directory.
	Name = "chat-history.jsonl"
	// maxEntries is the maximum number of kept prompts. The file is rewritten when it has twice as many.
	maxEntries = 1000
	// maxEntry is the maximum length of a kept prompt, in bytes. Longer prompts were pasted.
	maxEntry = 16 << 10
	// maxFile is the maximum size that is read from the end of the file, in bytes.
	maxFile = 4 << 20
)

// History holds the prompts of chats in all projects, and puts them into an editor. Several processes may add to its file; each sees the prompts
// from before its start. Use it from one goroutine.
type History struct {
	Entries []string // the oldest first

	path  string // empty: prompts are not saved
	at    int    // position of the prompt in the editor, counted from the end; 0: the draft
	draft edit.Editor
}

// record is a line of the file.
type record struct {
	Time int64  `json:"time"` // milliseconds since 1970
	Text string `json:"text"`
}

// Open reads the history. With an error, it still returns a usable one, which may be empty.
func Open(path string) (*History, error) {
	h := &History{path: path}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxFile {
		if _, err := f.Seek(-maxFile, io.SeekEnd); err != nil {
			return h, err
		}
	}
	records, err := read(f)
	if err != nil {
		return h, err
	}
	if len(records) > 2*maxEntries {
		if err := rewrite(path, records[len(records)-maxEntries:]); err != nil {
			return h, err
		}
	}
	for _, r := range records[max(0, len(records)-maxEntries):] {
		h.Entries = append(h.Entries, r.Text)
	}
	return h, nil
}

// read decodes a history. Invalid lines are skipped, for example one truncated by a full disk.
func read(r io.Reader) ([]record, error) {
	var out []record
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		var one record
		if json.Unmarshal(lines.Bytes(), &one) != nil {
			continue
		}
		if one.Text = edit.Clean(one.Text); strings.TrimSpace(one.Text) != "" {
			out = append(out, one)
		}
	}
	return out, lines.Err()
}

// rewrite replaces the file. Prompts that another process adds at the same moment may be lost.
func rewrite(path string, records []record) error {
	var b bytes.Buffer
	for _, r := range records {
		b.Write(r.line())
	}
	return atomicfile.Write(path, b.Bytes(), atomicfile.Options{}) // only the user may read it
}

func (r record) line() []byte {
	line, _ := json.Marshal(r) // a number and a text always encode
	return append(line, '\n')
}

// Add adds a prompt, unless it equals the latest one. It returns a function that stores it, from any goroutine, in a file that only the user can
// read; nil if the prompt is not stored.
func (h *History) Add(text string) (store func() error) {
	n := len(h.Entries)
	if n > 0 && h.Entries[n-1] == text {
		return nil
	}
	h.Entries = append(h.Entries[max(0, n+1-maxEntries):], text)
	if h.path == "" || len(text) > maxEntry {
		return nil
	}
	return func() error {
		if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(record{time.Now().UnixMilli(), text}.line())
		return errors.Join(err, f.Close())
	}
}

// shows reports whether the editor holds the earlier prompt that Move put there, unchanged.
func (h *History) shows(e *edit.Editor) bool {
	text, files := e.Text()
	return h.at > 0 && len(files) == 0 && text == edit.Clean(h.Entries[len(h.Entries)-h.at])
}

// Long reports whether the editor holds an earlier prompt that is so long, such as a paste, that up and down should leave it with one key.
func (h *History) Long(e *edit.Editor) bool {
	return h.shows(e) && edit.Long(h.Entries[len(h.Entries)-h.at])
}

// Keep stores a draft that the user discards, until a prompt is sent.
func (h *History) Keep(e *edit.Editor) {
	h.draft, h.at = *e, 0
}

// Sent forgets the draft.
func (h *History) Sent() { h.at, h.draft = 0, edit.Editor{} }

// Move puts an earlier or a later prompt into the editor, or the draft after the latest prompt.
func (h *History) Move(e *edit.Editor, by int) {
	if !h.shows(e) { // a changed prompt is the draft
		h.at = 0
	}
	to := h.at - by
	switch {
	case to < 0:
		if e.Empty() && !h.draft.Empty() {
			*e = h.draft
		}
		return
	case to > len(h.Entries):
		return
	}
	if h.at == 0 {
		h.draft = *e
	}
	if h.at = to; to == 0 {
		*e = h.draft
		return
	}
	e.Set(h.Entries[len(h.Entries)-to])
}
