package process

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/plugins/ability"
)

// callTable maps tokens to the calls that a process is answering. A request to the host on behalf of a call contains its token, which cannot
// be guessed and is invalid once the call is over. The zero value is empty. Safe for concurrent use.
type callTable struct {
	mu      sync.Mutex
	running map[string]runningCall
}

type runningCall struct {
	ability.Caller                 // its context ends with the call
	input          json.RawMessage // of a hook, which contains the session
}

// begin adds a call and returns its context and token. done ends both.
func (t *callTable) begin(ctx context.Context, c runningCall) (_ context.Context, token string, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	token, c.Call = rand.Text(), ctx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[string]runningCall{}
	}
	t.running[token] = c
	return ctx, token, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, token)
	}
}

// empty reports whether no call is in progress.
func (t *callTable) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running) == 0
}

// find returns the caller for a token.
func (t *callTable) find(token string) (ability.Caller, bool) {
	t.mu.Lock()
	call, ok := t.running[token]
	t.mu.Unlock()
	if call.input != nil {
		call.SessionID = hookpoint.SessionOf(call.input)
	}
	return call.Caller, ok
}
