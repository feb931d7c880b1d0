// Package history stores the prompts that the user typed, for all projects.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// FileName is the name of the file in the data directory.
	FileName = "chat-history.jsonl"
	// maxEntries is the number of kept prompts. The file is rewritten when it has twice as many.
	maxEntries = 1000
	// maxEntry is the maximum length of a kept prompt, in bytes. Longer prompts were pasted.
	maxEntry = 16 << 10
	// maxFile is the maximum size that is read from the end of the file, in bytes.
	maxFile = 4 << 20
)

// History holds the prompts. Several processes may add to the file; each sees the prompts from before its start and its own. It is safe for
// concurrent use.
type History struct {
	path string // empty: prompts are not saved

	mu      sync.Mutex
	entries []string
}

// record is a line of the file.
type record struct {
	Time int64  `json:"time"` // milliseconds since 1970
	Text string `json:"text"`
}

// Open reads the file at path. With an error, it also returns what could be read.
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
		h.entries = append(h.entries, r.Text)
	}
	return h, nil
}

// read decodes a history. Invalid lines are skipped, for example one truncated by a full disk.
func read(file io.Reader) ([]record, error) {
	var out []record
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		if r.Text = printable(r.Text); strings.TrimSpace(r.Text) != "" {
			out = append(out, r)
		}
	}
	return out, lines.Err()
}

// printable returns a prompt without the characters that would not show in an editor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if visible.Controls(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
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
	line, err := json.Marshal(r)
	if err != nil {
		return nil // a number and a text always encode
	}
	return append(line, '\n')
}

// Entries returns the prompts, the oldest first.
func (h *History) Entries() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// Add adds a prompt, unless it equals the latest one, and saves it in a file that only the user can read. After the first error, prompts are
// kept for this process only.
func (h *History) Add(text string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.entries); n > 0 && h.entries[n-1] == text {
		return nil
	}
	h.entries = append(h.entries, text)
	if over := len(h.entries) - maxEntries; over > 0 {
		h.entries = h.entries[over:]
	}
	if h.path == "" || len(text) > maxEntry {
		return nil
	}
	err := h.save(text)
	if err != nil {
		h.path = ""
	}
	return err
}

func (h *History) save(text string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(record{time.Now().UnixMilli(), text}.line())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", h.path, cli.Cause(err))
	}
	return nil
}
