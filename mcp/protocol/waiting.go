package protocol

import (
	"strconv"
	"sync"
)

// waiting are the requests without an answer, of a carrier whose answers arrive on one stream. It is safe for concurrent use.
type waiting struct {
	mu      sync.Mutex
	answers map[string]chan *message // by ID of the request
}

// add returns the channel that receives the answer to a request. The caller calls forget when it no longer waits.
func (w *waiting) add(id int64) (answer chan *message, forget func()) {
	key, answer := strconv.FormatInt(id, 10), make(chan *message, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers == nil {
		w.answers = map[string]chan *message{}
	}
	w.answers[key] = answer
	return answer, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.answers, key)
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
