package guest

import (
	"encoding/json"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Subscription is a stream of the host's events, for wires that have one. If the plugin is slow, the oldest events are lost.
type Subscription struct {
	Events <-chan sdk.Event
	Ended  <-chan struct{} // closed by End

	out   chan sdk.Event
	ended chan struct{}

	mu     sync.Mutex
	closed bool
}

// NewSubscription returns a subscription of which size events wait for the plugin, at least one.
func NewSubscription(size int) *Subscription {
	s := &Subscription{out: make(chan sdk.Event, max(size, 1)), ended: make(chan struct{})}
	s.Events, s.Ended = s.out, s.ended
	return s
}

// Put adds an event, as JSON.
func (s *Subscription) Put(body []byte) {
	var event sdk.Event
	if json.Unmarshal(body, &event) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		select {
		case s.out <- event:
			return
		default:
		}
		select {
		case <-s.out:
		default:
		}
	}
}

// End notes that the host sends no more. Call it once.
func (s *Subscription) End() { close(s.ended) }

// Close closes Events. Call it once.
func (s *Subscription) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.out)
}
