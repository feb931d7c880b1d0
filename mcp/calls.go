package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/sdk"
)

// maxCallTime is the maximum duration of a call, whatever its progress.
const maxCallTime = 10 * time.Minute

// call is a request on behalf of a session. The server's own requests and notifications during the call belong to it.
type call struct {
	session string
	host    sdk.ToolHost // nil outside a tool call
	token   string       // of its progress notifications

	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	paused int // number of the server's requests in progress
}

// hookCall returns a request on behalf of a hook, for the session in the hook's input.
func hookCall(c *sdk.RemoteCall) *call {
	var in struct {
		SessionID string `json:"sessionID"`
	}
	if json.Unmarshal(c.Input, &in) != nil {
		return &call{}
	}
	return &call{session: in.SessionID}
}

type callKey struct{}

// calls are the calls in flight on a connection.
type calls struct {
	mu     sync.Mutex
	next   int
	active []*call // oldest first
}

func newCalls() *calls { return &calls{} }

// errNoAnswer is the cause of a call that exceeded its timeout.
var errNoAnswer = errors.New("no answer in time")

// begin records the call and limits its time: limit without progress, maxCallTime in total. done ends it.
func (l *calls) begin(ctx context.Context, c *call, limit time.Duration) (_ context.Context, done func()) {
	ctx, stop := context.WithTimeoutCause(ctx, max(maxCallTime, limit), errNoAnswer)
	ctx, cancel := context.WithCancelCause(ctx)
	c.limit = limit
	c.timer = time.AfterFunc(limit, func() { cancel(errNoAnswer) })
	l.mu.Lock()
	l.next++
	c.token = fmt.Sprintf("call-%d", l.next)
	l.active = append(l.active, c)
	l.mu.Unlock()
	return context.WithValue(ctx, callKey{}, c), func() {
		l.mu.Lock()
		l.active = slices.DeleteFunc(l.active, func(o *call) bool { return o == c })
		l.mu.Unlock()
		c.timer.Stop()
		cancel(nil)
		stop()
	}
}

// of returns the call that a request of the server belongs to: the call in its context, or the latest call in flight if all of them
// belong to one session. Otherwise it returns nil.
func (l *calls) of(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *call
	for _, c := range l.active {
		if found != nil && c.session != found.session {
			return nil
		}
		found = c
	}
	return found
}

// progress displays a call's progress. It is called on a reading goroutine.
func (l *calls) progress(params map[string]any) {
	token, _ := params["progressToken"].(string)
	l.mu.Lock()
	at := slices.IndexFunc(l.active, func(c *call) bool { return c.token == token })
	var c *call
	if at >= 0 {
		c = l.active[at]
	}
	l.mu.Unlock()
	if c == nil {
		return
	}
	c.touch()
	if c.host == nil {
		return
	}
	meta := sdk.Object{}
	for _, key := range []string{"progress", "total"} {
		if n, ok := params[key].(float64); ok {
			meta[key] = n
		}
	}
	title, _ := params["message"].(string)
	title = bound(title, 200)
	if title == "" {
		title = progressTitle(meta)
	}
	c.host.Progress(title, meta)
}

func progressTitle(meta sdk.Object) string {
	if total, ok := meta["total"]; ok {
		return fmt.Sprintf("%v of %v", meta["progress"], total)
	}
	return fmt.Sprint(meta["progress"])
}

// touch restarts the call's time limit.
func (c *call) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == 0 {
		c.timer.Reset(c.limit)
	}
}

// pause stops the call's time while the server waits for an answer; the returned function resumes it.
func (c *call) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused++
	c.timer.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 {
			c.timer.Reset(c.limit)
		}
	}
}

// maxSilent is the number of consecutive timeouts without any message of the server after which it counts as stuck. The same number of
// failures quarantines a plugin, whose hooks are then no longer called.
const maxSilent = 3

// errStuck is the cause of a server's end after it stopped responding.
var errStuck = fmt.Errorf("it sent nothing during %d consecutive calls, all of which timed out", maxSilent)

// owner is a carrier that runs the server as its child.
type owner interface {
	// heard returns the number of messages from the server.
	heard() int64
}

// watch records the number of the server's messages at the start of a call; the returned function is called at its end. A stuck process
// never recovers and may use a processor, so it is ended and restarted.
func (c *conn) watch(ctx context.Context) (ended func(err error)) {
	t, ok := c.wire.carrier.(owner)
	if !ok {
		return func(error) {}
	}
	before := t.heard()
	return func(err error) {
		late := err != nil && (errors.Is(context.Cause(ctx), errNoAnswer) || errors.Is(ctx.Err(), context.DeadlineExceeded))
		switch {
		case t.heard() != before:
			c.silent.Store(0)
		case late && c.silent.Add(1) >= maxSilent:
			c.wire.fail(errStuck)
		}
	}
}

// do runs f, which sends the requests of a call, and returns the raw result.
func (c *conn) do(ctx context.Context, on *call, limit time.Duration, f func(ctx context.Context, meta map[string]any) (json.RawMessage, error)) (json.RawMessage, error) {
	ctx, done := c.calls.begin(ctx, on, limit)
	defer done()
	ended := c.watch(ctx)
	raw, err := f(ctx, map[string]any{"progressToken": on.token})
	ended(err)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errNoAnswer):
		return nil, fmt.Errorf("it did not answer in %s; raise its timeout if it needs longer: %w", limit, errNoAnswer)
	case err == nil && (len(raw) == 0 || string(raw) == "null"):
		return nil, errors.New("its answer is empty")
	}
	return raw, err
}

// wantsInput reports whether a result is a request for input, in the stateless revision.
func wantsInput(raw json.RawMessage) bool {
	var r struct {
		ResultType string `json:"resultType"`
	}
	return json.Unmarshal(raw, &r) == nil && r.ResultType == "input_required"
}

// callTool calls a tool.
func (c *conn) callTool(ctx context.Context, on *call, limit time.Duration, t *Tool, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if t.Execution.TaskSupport == taskRequired {
		return c.callTask(ctx, on, limit, t.Name, args)
	}
	return c.do(ctx, on, limit, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		return c.rounds(ctx, string(mcp.MethodToolsCall), map[string]any{"name": t.Name, "arguments": args, "_meta": meta})
	})
}

// readResource reads a resource.
func (c *conn) readResource(ctx context.Context, on *call, limit time.Duration, uri string) (json.RawMessage, error) {
	return c.do(ctx, on, limit, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		return c.rounds(ctx, string(mcp.MethodResourcesRead), map[string]any{"uri": uri, "_meta": meta})
	})
}

// getPrompt renders a prompt.
func (c *conn) getPrompt(ctx context.Context, on *call, limit time.Duration, name string, args map[string]string) (json.RawMessage, error) {
	return c.do(ctx, on, limit, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		params := map[string]any{"name": name, "_meta": meta}
		if len(args) > 0 {
			params["arguments"] = args
		}
		return c.rounds(ctx, string(mcp.MethodPromptsGet), params)
	})
}

// raw sends a request of an extension for a call.
func (c *conn) raw(ctx context.Context, on *call, limit time.Duration, method string, params map[string]any) (json.RawMessage, error) {
	ctx, done := c.calls.begin(ctx, on, limit)
	defer done()
	ended := c.watch(ctx)
	result, err := c.request(ctx, method, params)
	ended(err)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return nil, fmt.Errorf("it did not answer in %s: %w", limit, errNoAnswer)
	}
	return result, err
}
