package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Pending is a change of files that is under way. It is on the disk from before the first step until the change is complete, so that it can be
// completed after a crash.
type Pending struct {
	ID    string          `json:"id"` // letters, digits, - and _
	Steps []Step          `json:"steps"`
	Note  json.RawMessage `json:"note,omitempty"` // the caller's
}

func (r *Repo) pendingDir() string { return filepath.Join(r.dir, "pending") }

func (r *Repo) pendingFile(id string) string { return filepath.Join(r.pendingDir(), id+".json") }

// Begin makes a change durable, before its first step.
func (r *Repo) Begin(p *Pending) error {
	if p.ID == "" || strings.Trim(p.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("pending change of files %q: bad identifier", p.ID)
	}
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return replaceFile(r.pendingFile(p.ID), content)
}

// End forgets the change.
func (r *Repo) End(id string) error { return ignoreMissing(os.Remove(r.pendingFile(id))) }

// Pending returns the changes that were not ended, including changes that other processes still work on.
func (r *Repo) Pending() ([]*Pending, error) {
	entries, err := os.ReadDir(r.pendingDir())
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var out []*Pending
	var errs []error
	for _, e := range entries {
		name := filepath.Join(r.pendingDir(), e.Name())
		if !strings.HasSuffix(name, ".json") {
			continue // it was never completely written
		}
		p, err := readPending(name)
		if err != nil {
			errs = append(errs, err)
		}
		if p != nil {
			out = append(out, p)
		}
	}
	return out, errors.Join(errs...)
}

// PendingOf returns one change; nil if it was ended or never begun.
func (r *Repo) PendingOf(id string) (*Pending, error) { return readPending(r.pendingFile(id)) }

// readPending reads a change; nil if its file does not exist.
func readPending(name string) (*Pending, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	p := &Pending{}
	if err := json.Unmarshal(content, p); err != nil {
		return nil, fmt.Errorf("pending change of files %s: %w", name, err)
	}
	return p, nil
}
