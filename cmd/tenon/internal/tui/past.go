package tui

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
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/internal/atomicfile"
)

const (
	// historyFile is the name of the history in the data directory.
	historyFile = "chat-history.jsonl"
	// maxHistory is the number of kept prompts. The file is rewritten when it has twice as many.
	maxHistory = 1000
	// maxHistoryEntry is the maximum length of a kept prompt, in bytes. Longer prompts were pasted.
	maxHistoryEntry = 16 << 10
	// maxHistoryFile is the maximum size that is read from the end of the file, in bytes.
	maxHistoryFile = 4 << 20
)

// pastFile holds the prompts of chats in all projects. It is safe for concurrent use. Several processes may add to the file;
// each sees the prompts from before its start.
type pastFile struct {
	path    string // empty: prompts are not saved
	entries []string

	mu sync.Mutex
}

// historyRecord is a line of the file.
type historyRecord struct {
	Time int64  `json:"time"` // milliseconds since 1970
	Text string `json:"text"`
}

// openPast reads the history. With an error, it also returns what could be read.
func openPast(path string) (*pastFile, error) {
	h := &pastFile{path: path}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxHistoryFile {
		if _, err := f.Seek(-maxHistoryFile, io.SeekEnd); err != nil {
			return h, err
		}
	}
	records, err := readHistory(f)
	if err != nil {
		return h, err
	}
	if len(records) > 2*maxHistory {
		if err := rewriteHistory(path, records[len(records)-maxHistory:]); err != nil {
			return h, err
		}
	}
	for _, r := range records[max(0, len(records)-maxHistory):] {
		h.entries = append(h.entries, r.Text)
	}
	return h, nil
}

// readHistory decodes a history. Invalid lines are skipped, for example one truncated by a full disk.
func readHistory(r io.Reader) ([]historyRecord, error) {
	var out []historyRecord
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxHistoryFile+1)
	for lines.Scan() {
		var record historyRecord
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			continue
		}
		if record.Text = edit.Clean(record.Text); strings.TrimSpace(record.Text) != "" {
			out = append(out, record)
		}
	}
	return out, lines.Err()
}

// rewriteHistory replaces the file. Prompts that another process adds at the same moment may be lost.
func rewriteHistory(path string, records []historyRecord) error {
	var b bytes.Buffer
	for _, r := range records {
		b.Write(r.line())
	}
	return atomicfile.Write(path, b.Bytes(), atomicfile.Options{}) // only the user may read it
}

func (r historyRecord) line() []byte {
	line, err := json.Marshal(r)
	if err != nil {
		return nil // a number and a text always encode
	}
	return append(line, '\n')
}

// Entries implements Past.
func (h *pastFile) Entries() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entries
}

// Add implements Past.
func (h *pastFile) Add(text string) error { return h.add(text, time.Now()) }

// add adds a prompt, unless it equals the latest one, and saves it in a file that only the user can read. If saving fails, this process
// still keeps the prompt.
func (h *pastFile) add(text string, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.entries); n > 0 && h.entries[n-1] == text {
		return nil
	}
	h.entries = append(h.entries, text)
	if over := len(h.entries) - maxHistory; over > 0 {
		h.entries = h.entries[over:]
	}
	if h.path == "" || len(text) > maxHistoryEntry {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(historyRecord{now.UnixMilli(), text}.line())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", h.path, cli.Cause(err))
	}
	return nil
}
