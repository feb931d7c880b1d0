package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// countingStore notes how many changes each append has, and calls wait.
type countingStore struct {
	store.Store
	wait    func()
	appends []int
	texts   []store.AppendText
	err     error // of the first append
}

func (s *countingStore) Append(_ context.Context, _ store.Token, ops []store.Op) (uint64, error) {
	s.wait()
	s.appends = append(s.appends, len(ops))
	for _, op := range ops {
		if text, ok := op.(store.AppendText); ok {
			s.texts = append(s.texts, text)
		}
	}
	err := s.err
	s.err = nil
	return 0, err
}

// Changes that follow each other, and changes of callers that wait at the same time, share an append. No caller waits for further changes.
func TestJournalShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &countingStore{wait: func() { time.Sleep(time.Second) }}
		j := newJournal(t.Context(), s, store.Token{}, func(sdk.Event) {})
		put := func() { j.Put([]store.Op{store.SetTurn{}}) }
		for range 3 {
			put()
			time.Sleep(putInterval / 4)
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		for range 10 {
			go func() {
				put()
				if err := j.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		put()
		if err := j.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("the last caller waited %s", d)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if len(s.appends) != 3 || s.appends[0] != 3 || s.appends[1] != 1 || s.appends[2] != 10 {
			t.Errorf("changes of each append = %v", s.appends)
		}
	})
}

// A message is stored with all its parts or not at all, however many it has.
func TestAddIsOneAppend(t *testing.T) {
	t.Parallel()
	s := &countingStore{wait: func() {}}
	c := &Conversation{Journal: newJournal(t.Context(), s, store.Token{}, func(sdk.Event) {}), session: &sdk.Session{}}
	m := &sdk.UserMessage{}
	parts := make(sdk.Parts, 2*journalBatch)
	for i := range parts {
		parts[i] = &sdk.TextPart{}
	}
	c.Add(m, parts, store.TakePrompt{})
	if err := c.Journal.Close(); err != nil {
		t.Error(err)
	}
	if len(s.appends) != 1 || s.appends[0] != 2+len(parts) {
		t.Errorf("changes of each append = %v", s.appends)
	}
}

// After a change that could not be stored, nothing is stored or published any more: the conversation would have a gap.
func TestJournalStopsAtFailure(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	s := &countingStore{wait: func() {}, err: full}
	j := newJournal(t.Context(), s, store.Token{}, func(e sdk.Event) { t.Errorf("published %s", e.Type) })
	for range 2 {
		j.Put([]store.Op{store.SetTurn{}}, sdk.Event{Type: sdk.EventSessionIdle})
		if err := j.Flush(t.Context()); !errors.Is(err, full) {
			t.Errorf("Flush = %v, want %v", err, full)
		}
	}
	if err := j.Close(); !errors.Is(err, full) || len(s.appends) != 1 {
		t.Errorf("Close = %v after %d appends, want the first failure and none after it", err, len(s.appends))
	}
}

// Text of parts that stream in turns, as the arguments of parallel calls do, stays apart.
func TestJournalKeepsPartsApart(t *testing.T) {
	t.Parallel()
	s := &countingStore{wait: func() {}}
	j := newJournal(t.Context(), s, store.Token{}, func(sdk.Event) {})
	for _, text := range []string{"1", "2"} {
		j.append(sdk.PartHead{ID: "a"}, "raw", "a"+text)
		j.append(sdk.PartHead{ID: "b"}, "raw", "b"+text)
	}
	j.append(sdk.PartHead{ID: "b"}, "raw", "b3")
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	got := map[string]string{}
	for _, text := range s.texts {
		got[text.PartID] += text.Text
	}
	if got["a"] != "a1a2" || got["b"] != "b1b2b3" {
		t.Errorf("texts = %q", got)
	}
}
