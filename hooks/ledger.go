package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Outcome is how a call of a hook ended.
type Outcome string

// The outcomes.
const (
	OutcomeChanged   Outcome = "changed"
	OutcomeUnchanged Outcome = "unchanged"
	OutcomeAllowed   Outcome = "allowed"
	OutcomeAsked     Outcome = "asked"
	OutcomeDenied    Outcome = "denied"
	OutcomeHalted    Outcome = "halted"
	OutcomeContinued Outcome = "continued"
	OutcomeAbstained Outcome = "abstained"
	OutcomeError     Outcome = "error"
	OutcomeTimeout   Outcome = "timeout"
	OutcomeSkipped   Outcome = "skipped" // quarantined, so not called
	OutcomeAborted   Outcome = "aborted" // the caller canceled it
)

// Entry records one call of a hook.
type Entry struct {
	// Firing numbers the calls of Transform and Gate that wrote to the ledger, from 1.
	Firing  int           `json:"firing"`
	Point   sdk.Point     `json:"point"`
	Plugin  string        `json:"plugin"`
	Version string        `json:"version,omitempty"`
	Hook    string        `json:"hook"`
	Subject string        `json:"subject,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Error   string        `json:"error,omitempty"`
	Verdict sdk.Verdict   `json:"verdict,omitempty"` // the verdict that counted; for a failed gate, the verdict of its policy
	Reason  string        `json:"reason,omitempty"`
	Changes []EntryChange `json:"changes,omitempty"`
	// Dropped lists the changes that had no effect, because the hook did not declare them in Writes.
	Dropped    []string `json:"dropped,omitempty"`
	DurationUS int64    `json:"durationUS"` // of the handler, in microseconds
}

// EntryChange is one change of a value. Old and New are the first 16 hex digits of the SHA-256 of the
// JSON at the pointer before and after the hook; empty if there was none.
type EntryChange struct {
	Pointer string `json:"pointer"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// Conflict means that several plugins changed the same value in one firing.
type Conflict struct {
	Point   sdk.Point `json:"point"`
	Subject string    `json:"subject,omitempty"`
	Pointer string    `json:"pointer"` // the outermost one that was changed
	Plugins []string  `json:"plugins"` // in the order they were called
	Winner  string    `json:"winner"`  // the last of them
}

// Ledger records the calls of hooks and their changes. The zero value is ready; safe for use from many goroutines.
type Ledger struct {
	mu      sync.Mutex
	firings int
	entries []Entry
}

// Add appends an entry.
func (l *Ledger) Add(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, *e)
}

// Entries returns a copy of the entries in the order the calls ended.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// firing returns the number of the next firing; 0 for a nil ledger.
func (l *Ledger) firing() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.firings++
	return l.firings
}

// Conflicts finds the values that several plugins changed in one firing, at the same pointer or at nested ones. A
// conflict is not an error, because each plugin saw the changes of its predecessor, but the last change won.
func Conflicts(entries []Entry) []Conflict {
	changed := map[int]map[string]bool{} // by firing
	for _, e := range entries {
		for _, c := range e.Changes {
			if changed[e.Firing] == nil {
				changed[e.Firing] = map[string]bool{}
			}
			changed[e.Firing][c.Pointer] = true
		}
	}
	type place struct {
		firing  int
		pointer string
	}
	index := map[place]int{}
	var out []Conflict
	for _, e := range entries {
		for _, c := range e.Changes {
			at := place{e.Firing, outermost(changed[e.Firing], c.Pointer)}
			i, ok := index[at]
			if !ok {
				i = len(out)
				index[at] = i
				out = append(out, Conflict{Point: e.Point, Subject: e.Subject, Pointer: at.pointer})
			}
			if !slices.Contains(out[i].Plugins, e.Plugin) {
				out[i].Plugins = append(out[i].Plugins, e.Plugin)
			}
			out[i].Winner = e.Plugin
		}
	}
	out = slices.DeleteFunc(out, func(c Conflict) bool { return len(c.Plugins) < 2 })
	return append([]Conflict(nil), out...) // nil without one
}

// outermost returns the shortest pointer in changed that is equal to pointer or a prefix of it.
func outermost(changed map[string]bool, pointer string) string {
	for i := range len(pointer) {
		if pointer[i] != '/' {
			continue
		}
		if _, ok := changed[pointer[:i]]; ok {
			return pointer[:i]
		}
	}
	return pointer
}

// Hash returns the hash of a JSON text in the ledger, or "" for nil.
func Hash(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
