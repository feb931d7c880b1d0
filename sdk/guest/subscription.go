package guest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Subscription is a stream of the host's events. If the plugin is slow, the oldest events are lost.
type Subscription struct {
	Events chan sdk.Event

	ended  chan struct{} // closed by End
	mu     sync.Mutex
	closed bool
}

// Subscribe makes the host send the events of a subscription until ctx ends. At most size events wait to be read.
type Subscribe func(ctx context.Context, s *Subscription, size int) error

// newHost returns the host that sent a start request. It has events if the wire supports them.
func newHost(req *StartRequest, host *Side) sdk.Host {
	h := NewHost(req, host.Log, host.Call)
	if host.Subscribe == nil {
		return h
	}
	return &eventHost{h, host.Subscribe}
}

// eventHost is a Host that has events.
type eventHost struct {
	*Host
	subscribe Subscribe
}

var _ sdk.EventSource = (*eventHost)(nil)

// Events streams the granted events until ctx ends; the context of Start ends with Start. If events are not granted, or the host has none, the
// channel is closed, and the reason is logged.
func (h *eventHost) Events(ctx context.Context, size int) <-chan sdk.Event {
	s := NewSubscription(size)
	if h.subscribe(ctx, s, max(size, 1)) != nil {
		s.Close()
	}
	return s.Events
}

// NewSubscription returns a subscription that buffers size events, at least one.
func NewSubscription(size int) *Subscription {
	return &Subscription{Events: make(chan sdk.Event, max(size, 1)), ended: make(chan struct{})}
}

// PutJSON adds an event that is encoded as JSON.
func (s *Subscription) PutJSON(body []byte) {
	var event sdk.Event
	if json.Unmarshal(body, &event) == nil {
		s.Put(event)
	}
}

// Put adds an event.
func (s *Subscription) Put(event sdk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		select {
		case s.Events <- event:
			return
		default:
		}
		select {
		case <-s.Events:
		default:
		}
	}
}

// Follow closes Events when the host ends the subscription, the connection ends, or ctx ends. In the last case it calls cancel.
func (s *Subscription) Follow(ctx context.Context, disconnected <-chan struct{}, cancel func()) {
	defer s.Close()
	select {
	case <-s.ended:
	case <-disconnected:
	case <-ctx.Done():
		cancel()
	}
}

// End notes that the host sends no more events. Call it once.
func (s *Subscription) End() { close(s.ended) }

// Close closes Events. Call it once.
func (s *Subscription) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.Events)
}
