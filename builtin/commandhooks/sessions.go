package commandhooks

import (
	"context"
	"slices"
	"sync"
	"time"
)

// announceWait is the maximum wait for the hook at the start of a session. The hook runs on a goroutine other than the first
// prompt's. For a plugin that was loaded into a running session, it never runs.
const announceWait = time.Second

// session is one session since it started.
type session struct {
	announced chan struct{} // closed once child is known, or after announceWait
	ready     chan struct{} // closed once the commands at its start have run, or after announceWait

	mu      sync.Mutex
	child   bool     // whether it belongs to a subagent
	context []string // the commands' texts for the model, until a prompt includes them
}

// session returns the state of a session. Sessions end with the host.
func (p *Plugin) session(id string) *session {
	s, _ := p.sessions.LoadOrStore(id, &session{announced: make(chan struct{}), ready: make(chan struct{})})
	return s.(*session)
}

// announce records whether the session belongs to a subagent.
func (s *session) announce(child bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child = s.child || child
	closeOnce(s.announced)
}

// closeOnce closes a channel unless it is closed. Nothing is sent on it.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// isChild reports whether the session belongs to a subagent. It waits until that is known, or can no longer be expected.
func (s *session) isChild(ctx context.Context) bool {
	select {
	case <-s.announced:
	case <-time.After(announceWait):
		s.announce(false)
		s.finish(nil)
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child
}

// finish stores the texts of the commands at the session's start.
func (s *session) finish(context []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := func(text string) bool { return slices.Contains(context, text) } // several summaries in a row have the same texts
	s.context = append(slices.DeleteFunc(s.context, again), context...)
	closeOnce(s.ready)
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
