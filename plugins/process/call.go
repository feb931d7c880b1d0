package process

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/tenonhq/tenon/plugins/ability"
)

// callTable holds the calls that a process is answering by the tokens sent with them. Each request to the host names one of them: a
// token cannot be guessed, and is invalid once its call is over. The zero value is empty. Safe for concurrent use.
type callTable struct {
	mu      sync.Mutex
	running map[string]ability.Caller // whose contexts end with the calls
}

// begin adds a call and returns its context and token. done ends both.
func (t *callTable) begin(ctx context.Context, c ability.Caller) (_ context.Context, token string, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	token, c.Call = rand.Text(), ctx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[string]ability.Caller{}
	}
	t.running[token] = c
	return ctx, token, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, token)
	}
}

// find returns the call of a token.
func (t *callTable) find(token string) (ability.Caller, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	call, ok := t.running[token]
	return call, ok
}
