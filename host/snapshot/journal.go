package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Journal is a change of files that is under way. It stays on the disk from before the first file changes until everything that
// belongs to it is done, so that after a crash it can be brought to its end.
type Journal struct {
	ID    string          `json:"id"` // letters, digits, - and _
	Steps []Step          `json:"steps"`
	Note  json.RawMessage `json:"note,omitempty"` // the caller's
}

func (r *Repo) journalDir() string { return filepath.Join(r.dir, "pending") }

func (r *Repo) journalFile(id string) string { return filepath.Join(r.journalDir(), id+".json") }

// Begin makes the journal durable.
func (r *Repo) Begin(j *Journal) error {
	if j.ID == "" || strings.Trim(j.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("journal %q: bad identifier", j.ID)
	}
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.journalDir(), 0o700); err != nil {
		return err
	}
	return replaceFile(r.journalFile(j.ID), content)
}

// End forgets the journal.
func (r *Repo) End(id string) error { return ignoreMissing(os.Remove(r.journalFile(id))) }

// Pending returns the journals that were not ended, those of processes that work on them still among them.
func (r *Repo) Pending() ([]*Journal, error) {
	entries, err := os.ReadDir(r.journalDir())
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var out []*Journal
	var errs []error
	for _, e := range entries {
		name := filepath.Join(r.journalDir(), e.Name())
		if !strings.HasSuffix(name, ".json") {
			continue // never became one
		}
		j, err := readJournal(name)
		if err != nil {
			errs = append(errs, err)
		}
		if j != nil {
			out = append(out, j)
		}
	}
	return out, errors.Join(errs...)
}

// PendingOf returns the journal of one change; nil when it was ended, or never begun.
func (r *Repo) PendingOf(id string) (*Journal, error) { return readJournal(r.journalFile(id)) }

// readJournal reads a journal; nil when it is not there.
func readJournal(name string) (*Journal, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	j := &Journal{}
	if err := json.Unmarshal(content, j); err != nil {
		return nil, fmt.Errorf("journal %s: %w", name, err)
	}
	return j, nil
}
