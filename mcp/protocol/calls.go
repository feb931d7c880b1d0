package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxTitle is the maximum length of a line of progress, in bytes.
const maxTitle = 200

// MaxCallTime is the maximum duration of a call, even if it makes progress.
const MaxCallTime = 10 * time.Minute

// Call is a request on behalf of a session. The server's own requests and notifications during the call belong to it. A Call is used
// once.
type Call struct {
	Session string       // empty: none
	Host    sdk.ToolHost // nil outside a tool call

	ctx    context.Context // ends with the call
	token  string          // token of its progress notifications
	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	paused int // number of the server's requests in progress
	asked  int // number of the server's requests so far
}

type callKey struct{}

// ErrLate is wrapped if a server exceeded its timeout, at its start or in a call. Its text is the remedy.
var ErrLate = errors.New("raise its timeout in the configuration if it needs longer")

// callOf returns the call that a request of the server belongs to: the call in its context, or the latest call in flight if all calls
// belong to one session. Otherwise it returns nil. The result is certain unless several calls are in flight.
func (c *Conn) callOf(ctx context.Context) (on *Call, certain bool) {
	if on, ok := ctx.Value(callKey{}).(*Call); ok {
		return on, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *Call
	for _, on := range c.active {
		if found != nil && on.Session != found.Session {
			return nil, false
		}
		found = on
	}
	return found, len(c.active) == 1
}

// progress displays a call's progress. It is called on a reading goroutine.
func (c *Conn) progress(params map[string]any) {
	c.mu.Lock()
	at := slices.IndexFunc(c.active, func(on *Call) bool { return on.token == params["progressToken"] })
	var on *Call
	if at >= 0 {
		on = c.active[at]
	}
	c.mu.Unlock()
	if on == nil {
		return
	}
	on.touch()
	if on.Host == nil {
		return
	}
	meta := sdk.Object{}
	var done []string
	for _, key := range []string{"progress", "total"} {
		if n, ok := params[key].(float64); ok {
			meta[key] = n
			done = append(done, strconv.FormatFloat(n, 'f', -1, 64)) // such as a number of bytes
		}
	}
	title, _ := params["message"].(string)
	on.Host.Progress(cmp.Or(visible.Bound(title, maxTitle), strings.Join(done, " of ")), meta)
}

// touch restarts the call's time limit.
func (c *Call) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == 0 {
		c.timer.Reset(c.limit)
	}
}

// maxAsked is the maximum number of a server's requests to the user and the model in one call: each interrupts the user, or costs money.
const maxAsked = 100

// Pause stops the call's time while the server waits for an answer; the returned function resumes it. Errors: more than maxAsked.
func (c *Call) Pause() (resume func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked++; c.asked > maxAsked {
		return nil, fmt.Errorf("more than %d requests to the user or the model in one call", maxAsked)
	}
	c.paused++
	c.timer.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 {
			c.timer.Reset(c.limit)
		}
	}, nil
}

// maxSilent is the number of consecutive timeouts without any message of the server after which it counts as stuck. The same number of
// failures quarantines a plugin, whose hooks are then no longer called.
const maxSilent = 3

// errStuck is the cause of a server's end after it stopped responding.
var errStuck = fmt.Errorf("it sent nothing during %d consecutive calls, all of which timed out", maxSilent)

// watch is called at the end of a call to a local server; before is the number of messages that the server had sent when the call began.
// A stuck process never recovers and may use a processor, so it is ended and restarted.
func (c *Conn) watch(ctx context.Context, before int64, err error) {
	late := err != nil && (errors.Is(context.Cause(ctx), ErrLate) || errors.Is(ctx.Err(), context.DeadlineExceeded))
	_, local := c.carrier.(*stdio)
	switch {
	case c.received.Load() != before:
		c.silent.Store(0)
	case local && late && c.silent.Add(1) >= maxSilent:
		c.fail(errStuck)
	}
}

// do runs f, which sends the requests of a call, and returns the raw result. The time of a call is limited: without progress
// to its limit, by default that of other requests; in total to MaxCallTime.
func (c *Conn) do(ctx context.Context, on *Call, f func(ctx context.Context, meta map[string]any) (json.RawMessage, error)) (json.RawMessage, error) {
	if !c.calls.Begin() {
		return nil, &carrierError{fmt.Errorf("%w: %w", errUnsent, c.Cause())}
	}
	defer c.calls.End()
	on.limit, on.token = cmp.Or(on.limit, c.dialer.Timeout), fmt.Sprintf("call-%d", c.next.Add(1))
	ctx, stop := context.WithTimeoutCause(context.WithValue(ctx, callKey{}, on), max(MaxCallTime, on.limit), ErrLate)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	on.ctx, on.timer = ctx, time.AfterFunc(on.limit, func() { cancel(ErrLate) })
	defer on.timer.Stop()
	c.mu.Lock()
	c.active = append(c.active, on)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.active = slices.DeleteFunc(c.active, func(o *Call) bool { return o == on })
	}()
	before := c.received.Load()
	raw, err := f(ctx, map[string]any{"progressToken": on.token})
	c.watch(ctx, before, err)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrLate):
		return nil, fmt.Errorf("it did not answer in %s; %w", on.limit, ErrLate)
	case err == nil && (len(raw) == 0 || string(raw) == "null"):
		return nil, errors.New("its answer is empty")
	}
	return raw, err
}

// CallTool calls a tool, as a task if the server requires it.
func (c *Conn) CallTool(ctx context.Context, on *Call, name string, asTask bool, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	on.limit = c.dialer.Silence
	if asTask {
		return c.callTask(ctx, on, name, args)
	}
	return c.Ask(ctx, on, mcp.MethodToolsCall, map[string]any{"name": name, "arguments": args})
}

// Ask sends a request for a call, which the server may answer with questions.
func (c *Conn) Ask(ctx context.Context, on *Call, method mcp.MCPMethod, params map[string]any) (json.RawMessage, error) {
	return c.do(ctx, on, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		params["_meta"] = meta
		raw, err := c.rounds(ctx, on, string(method), params)
		var first mcp.URLElicitationRequiredError
		switch {
		case !errors.As(err, &first) || len(first.Elicitations) == 0:
			return raw, err
		case c.visited(ctx, on, first.Elicitations):
			return c.rounds(ctx, on, string(method), params)
		}
		return nil, fmt.Errorf("it requires a visit to %s first", visible.Bound(first.Elicitations[0].URL, 2<<10))
	})
}

// visited asks the user to open the addresses that a server requires before a request, and reports whether the user did.
func (c *Conn) visited(ctx context.Context, on *Call, list []mcp.ElicitationParams) bool {
	for i := range list {
		params, err := json.Marshal(&list[i])
		if err != nil {
			return false
		}
		answer, err := c.dialer.Answer(ctx, on, string(mcp.MethodElicitationCreate), params)
		if result, ok := answer.(*mcp.ElicitationResult); err != nil || !ok || result.Action != mcp.ElicitationResponseActionAccept {
			return false
		}
	}
	return true
}

// Extension sends a request of an extension for a call.
func (c *Conn) Extension(ctx context.Context, on *Call, method string, params map[string]any) (json.RawMessage, error) {
	return c.do(ctx, on, func(ctx context.Context, _ map[string]any) (json.RawMessage, error) {
		return c.Request(ctx, method, params)
	})
}
