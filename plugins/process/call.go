package process

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// caller says on whose behalf a process works during one call.
type caller struct {
	session string
	input   json.RawMessage // of a hook; it names the session
	tool    sdk.ToolHost    // of a tool call
	user    sdk.AuthUser    // of a sign-in
}

// broker returns the caller as the broker wants it.
func (c caller) broker() ability.Caller {
	if c.session == "" {
		c.session = remote.SessionOf(c.input)
	}
	return ability.Caller{SessionID: c.session, Tool: c.tool, User: c.user}
}

// callTable holds the calls a process is answering by the tokens it got with them. A request to the host is made on behalf of one
// of them: a token cannot be guessed, and means nothing once its call is over. The zero value is empty. Safe for use from many
// goroutines.
type callTable struct {
	mu      sync.Mutex
	running map[string]runningCall
}

type runningCall struct {
	ctx context.Context // of the call: requests made during the call end with it
	caller
}

// begin notes a call and returns its context and token. done ends both.
func (t *callTable) begin(ctx context.Context, c caller) (_ context.Context, token string, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	token = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[string]runningCall{}
	}
	t.running[token] = runningCall{ctx, c}
	return ctx, token, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, token)
	}
}

// find returns the call of a token.
func (t *callTable) find(token string) (runningCall, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	call, ok := t.running[token]
	return call, ok
}
