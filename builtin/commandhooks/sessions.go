package commandhooks

import (
	"context"
	"sync"
	"time"
)

// announceWait bounds the wait for the news that a session started. The news is on its way before the first prompt is, on another
// goroutine; a plugin that was loaded into a running session never hears of it.
const announceWait = time.Second

// sessions remembers what a plugin knows of the sessions. Safe for use from many goroutines; the zero value is ready.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

// session is one session since it started.
type session struct {
	announced chan struct{} // closed once child is known
	child     bool          // of a subagent
	ready     chan struct{} // closed once the commands at its start are done

	mu      sync.Mutex
	missed  bool     // the news was waited for in vain
	context []string // what the commands want the model to know, until a prompt takes it along
}

func (s *sessions) get(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*session{}
	}
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

// announce tells whose session it is. Only the first call for a session counts.
func (s *session) announce(child bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isAnnounced() {
		return
	}
	s.child = child
	close(s.announced)
}

func (s *session) isAnnounced() bool {
	select {
	case <-s.announced:
		return true
	default:
		return false
	}
}

// isChild reports whether the session is a subagent's, as far as that is known.
func (s *session) isChild() bool { return s.isAnnounced() && s.child }

// started waits until it is known whose session it is. It reports false when that did not become known; then it waits no more.
func (s *session) started(ctx context.Context) bool {
	if s.isMissed() {
		return s.isAnnounced()
	}
	timer := time.NewTimer(announceWait)
	defer timer.Stop()
	select {
	case <-s.announced:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = true
	return false
}

func (s *session) isMissed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}

// finish notes what the commands at the session's start said.
func (s *session) finish(context []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = append(s.context, context...)
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
}

// take waits for the commands at the session's start and returns what they said, once.
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
