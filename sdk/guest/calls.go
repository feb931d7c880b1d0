package guest

import (
	"context"
	"sync"
	"time"
)

// Calls holds the running calls, which the host can cancel by their IDs. The zero value is ready to use. It may be used concurrently.
type Calls struct {
	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// Begin returns the context of a call. It ends with Cancel, and after limit milliseconds unless limit is 0.
func (c *Calls) Begin(ctx context.Context, id uint64, limit int) context.Context {
	var cancel context.CancelFunc
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[uint64]context.CancelFunc{}
	}
	c.running[id] = cancel
	return ctx
}

// Cancel ends the context of a call, which may have returned.
func (c *Calls) Cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
		delete(c.running, id)
	}
}

// Detached returns a context that never ends, for calls that the host bounds by other means.
func Detached() context.Context { return context.Background() }

// tokenKey is the key of the token of a call in its context.
type tokenKey struct{}

// WithToken returns the context of a call that the host identifies by the token.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenOf returns the token of the call; empty without a call.
func TokenOf(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
