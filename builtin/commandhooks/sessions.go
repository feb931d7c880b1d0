package commandhooks

import (
	"context"
	"sync"
	"time"
)

// announceWait is the maximum wait for the hook at the start of a session. It runs on another goroutine than the first prompt; for a
// plugin that was loaded into a running session it never runs.
const announceWait = time.Second

// sessions contains the state of the sessions. It is safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

// session is one session since it started.
type session struct {
	announced chan struct{} // closed once child is known
	child     bool          // whether it belongs to a subagent
	ready     chan struct{} // closed once the commands at its start have run

	mu      sync.Mutex
	missed  bool     // whether a wait for announced has timed out
	context []string // the commands' texts for the model, until a prompt includes them
}

func (s *sessions) get(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == nil {
		s.byID[id] = &session{announced: make(chan struct{}), ready: make(chan struct{})}
	}
	return s.byID[id]
}

func (s *sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// announce records whether the session belongs to a subagent. Only the first call for a session has an effect.
func (s *session) announce(child bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isClosed(s.announced) {
		s.child = child
		close(s.announced)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isChild reports whether the session is known to belong to a subagent.
func (s *session) isChild() bool { return isClosed(s.announced) && s.child }

// started waits until announce was called and reports whether it was. After one timeout it does not wait again.
func (s *session) started(ctx context.Context) bool {
	s.mu.Lock()
	missed := s.missed
	s.mu.Unlock()
	if missed {
		return isClosed(s.announced)
	}
	select {
	case <-s.announced:
		return true
	case <-time.After(announceWait):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = true
	return false
}

// finish stores the texts of the commands at the session's start.
func (s *session) finish(context []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = append(s.context, context...)
	if !isClosed(s.ready) {
		close(s.ready)
	}
}

// take waits for the commands at the session's start and returns their texts, once.
func (s *session) take(ctx context.Context) ([]string, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	context := s.context
	s.context = nil
	return context, nil
}
