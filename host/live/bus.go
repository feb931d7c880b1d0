package live

import (
	"context"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Subscription receives the events of a host.
type Subscription struct {
	bus      *Bus
	events   chan sdk.Event
	lossless bool
	done     chan struct{} // closed by Close
	once     sync.Once
}

// Bus hands events to subscribers in the order they are published.
type Bus struct {
	mu     sync.Mutex
	subs   []*Subscription
	closed bool
}

// Subscribe adds a subscriber with room for size events. If it does not keep up, publishers wait for it if it is lossless; else it misses the
// oldest events.
func (b *Bus) Subscribe(size int, lossless bool) *Subscription {
	s := &Subscription{bus: b, events: make(chan sdk.Event, max(size, 1)), lossless: lossless, done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(s.events)
		return s
	}
	b.subs = append(b.subs, s)
	return s
}

// Publish hands e to all subscribers. It waits for lossless ones until ctx ends.
func (b *Bus) Publish(ctx context.Context, e sdk.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		s.send(ctx, e)
	}
}

// send hands e to the subscriber. The caller holds the lock of the bus, so no other goroutine sends.
func (s *Subscription) send(ctx context.Context, e sdk.Event) {
	select {
	case s.events <- e:
		return
	default:
	}
	if s.lossless {
		select {
		case s.events <- e:
		case <-s.done:
		case <-ctx.Done():
		}
		return
	}
	select {
	case <-s.events:
	default: // the subscriber read it meanwhile
	}
	s.events <- e
}

// Close ends all subscriptions, and later ones immediately. Safe twice.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subs {
		close(s.events)
	}
	b.subs = nil
}

// Events returns the channel of events. It is closed when the host or the subscription is closed.
func (s *Subscription) Events() <-chan sdk.Event { return s.events }

// Close ends the subscription and closes its channel; events that are still in it may be read. Safe twice.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.done) // first, so that a publisher that waits for the subscriber continues
		s.bus.mu.Lock()
		defer s.bus.mu.Unlock()
		if i := slices.Index(s.bus.subs, s); i >= 0 {
			s.bus.subs = slices.Delete(s.bus.subs, i, i+1)
			close(s.events)
		}
	})
}
