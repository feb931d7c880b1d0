package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// holdWriter keeps the writer busy until the returned function is called, and waits with it until the
// writer has gone on.
func holdWriter(t *testing.T, s *Store) (release func()) {
	t.Helper()
	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once // a job may run twice
	var group sync.WaitGroup
	group.Go(func() {
		_ = s.submit(t.Context(), func(*database.Tx) {
			once.Do(func() { close(held) })
			<-hold
		})
	})
	<-held
	return func() {
		close(hold)
		group.Wait()
	}
}

// waitQueued waits until so many writes are queued.
func waitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	for len(s.queue) < n {
		if t.Context().Err() != nil {
			t.Fatalf("%d writes are queued, want %d", len(s.queue), n)
		}
		runtime.Gosched()
	}
}

// Writes that wait together share one transaction: what the first did cannot be read while the second runs.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	token := createIn(t, s, "ses_a")
	release := holdWriter(t, s)
	var group sync.WaitGroup
	group.Go(func() {
		ops := []store.Op{store.PutMessage{Message: aMessage("ses_a", 0)}}
		if _, err := s.Append(t.Context(), token, ops); err != nil {
			t.Error(err)
		}
	})
	waitQueued(t, s, 1)
	group.Go(func() {
		err := s.submit(t.Context(), func(x *database.Tx) {
			written := x.Number("SELECT count(*) FROM message")
			ms, err := s.Messages(t.Context(), "ses_a", store.Page{})
			if written != 1 || len(ms) != 0 || err != nil {
				t.Errorf("written %d, visible %d, %v; want 1 and 0", written, len(ms), err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	waitQueued(t, s, 2)
	release()
	group.Wait()
	if ms, err := s.Messages(t.Context(), "ses_a", store.Page{}); len(ms) != 1 || err != nil {
		t.Errorf("messages = %d, %v", len(ms), err)
	}
}

// A caller that does not want to wait any more leaves at once, in the queue or before it.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	token := createIn(t, s, "ses_a")
	release := holdWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	const calls = queueSize + 5 // some find the queue full
	for n := range calls {
		group.Go(func() {
			ops := []store.Op{store.PutMessage{Message: aMessage("ses_a", n)}}
			if _, err := s.Append(ctx, token, ops); !errors.Is(err, context.Canceled) {
				t.Errorf("Append = %v, want context.Canceled", err)
			}
		})
	}
	waitQueued(t, s, queueSize)
	cancel()
	group.Wait()
	release()
	// Queued changes are made, and only those.
	must(t, s.Close())
	s = openAt(t, dir)
	ms, err := s.Messages(t.Context(), "ses_a", store.Page{})
	if len(ms) != queueSize || err != nil {
		t.Errorf("messages = %d, %v; want the %d that were queued", len(ms), err, queueSize)
	}
}

// All reads of one call see the same state, whatever is written meanwhile.
func TestReadsOneState(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	token := createIn(t, s, "ses_a")
	must(t, s.read(t.Context(), func(x *view) {
		for n := range 3 {
			if messages := x.Number("SELECT count(*) FROM message"); messages != 0 || x.Err() != nil {
				t.Errorf("messages = %d, %v; want none", messages, x.Err())
			}
			appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", n)})
		}
	}))
}
