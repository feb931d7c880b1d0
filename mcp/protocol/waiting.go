package protocol

import (
	"context"
	"sync"
)

// waiting are the requests without an answer, of a carrier whose answers arrive on one stream. It is safe for concurrent use.
type waiting struct {
	mu      sync.Mutex
	answers map[string]chan *message // by ID of the request
}

// exchange returns the answer to the request that send sends. It waits until ctx ends, or until lost is closed, for which both results are
// nil.
func (w *waiting) exchange(ctx context.Context, r *outgoing, lost <-chan struct{}, send func() error) (*message, error) {
	key, answer := string(r.ID), make(chan *message, 1)
	w.mu.Lock()
	if w.answers == nil {
		w.answers = map[string]chan *message{}
	}
	w.answers[key] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.answers, key)
	}()
	if err := send(); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
	case <-lost:
	}
	select {
	case m := <-answer: // received just before the end
		return m, nil
	default:
		return nil, ctx.Err()
	}
}

// pass passes an answer to the waiting request. It reports false for a late, duplicate or unexpected answer, which it drops.
func (w *waiting) pass(m *message) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, ok := w.answers[m.key()]
	if ok {
		delete(w.answers, m.key())
		answer <- m
	}
	return ok
}
