package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/internal/pause"
)

const (
	// maxPages, maxEntries, maxListBytes and maxNesting limit the lists of a server, which are compared, shown and sent to a model.
	maxPages     = 100
	maxEntries   = 2000
	maxListBytes = 4 << 20
	maxNesting   = 256 // objects and arrays in an entry
)

// Conn is one connection. It is safe for concurrent use.
type Conn struct {
	dialer  *Dialer
	carrier carrier
	running *ongoing.Operations // goroutines, streams, and answers to the server
	calls   *ongoing.Operations // calls in flight

	next    atomic.Int64 // number of the last request or call
	mu      sync.Mutex
	waiting map[string]chan *message // requests without an answer, by their ID
	active  []*Call                  // calls in flight, oldest first

	answers  sync.Map             // functions that cancel the answers to the server's requests, by their ID
	received atomic.Int64         // number of the server's messages
	incoming chan struct{}        // a token for each request of the server that is being answered
	refused  chan json.RawMessage // IDs of requests of the server that are not answered

	life context.Context         // ends when the connection is lost
	fail context.CancelCauseFunc // marks the connection as lost; the first cause is kept
	shut sync.Once

	version atomic.Value          // string; the revision of the protocol, set by the handshake
	hello   *mcp.InitializeResult // set by the handshake

	logLevel atomic.Pointer[string] // for each request of the stateless revision

	silent   atomic.Int32        // consecutive timeouts without any message of the server
	repeated map[string]mcp.Tool // by name: tools whose arguments are repeated in HTTP headers; guarded by mu
}

// Answer answers a request of the server, which belongs to the call on; nil if it belongs to none. Errors: ErrNoMethod for an
// unknown method.
type Answer func(ctx context.Context, on *Call, method string, params json.RawMessage) (any, error)

// Hello returns the server's part of the handshake: its description of itself, and the agreed revision.
func (c *Conn) Hello() *mcp.InitializeResult { return c.hello }

// Close ends the connection and waits for its goroutines and processes. It may be called twice.
func (c *Conn) Close() {
	c.shut.Do(func() {
		c.fail(errClosed)
		c.calls.Close()
		if Unsent(c.Cause()) { // the cause is that of one request: the others soon fail in the same way, and can then be repeated, too
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), goodbyeTimeout)
			defer cancel()
			_ = c.calls.Wait(ctx)
		}
		c.running.Close()
		c.carrier.close()
		_ = c.running.Wait(context.WithoutCancel(c.life)) // without a limit
	})
}

// List reads the pages of a list ("tools" for tools/list), at most maxEntries elements. It reports whether the server has more.
func (c *Conn) List(ctx context.Context, what string) (elements []json.RawMessage, more bool, err error) {
	return c.ListOf(ctx, what+"/list", what)
}

// ListOf is List for a method whose answer has the list under another name.
func (c *Conn) ListOf(ctx context.Context, method, field string) (out []json.RawMessage, more bool, err error) {
	cursor, size := "", 0
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.Request(ctx, method, params)
		if err != nil {
			return nil, false, fmt.Errorf("list its %s: %w", field, err)
		}
		var page map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(raw, &page) != nil || json.Unmarshal(page[field], &elements) != nil {
			return nil, false, fmt.Errorf("list its %s: missing list %q in the answer", field, field)
		}
		for _, e := range elements {
			if size += len(e); size > maxListBytes || jsontext.Deeper(e, maxNesting) {
				return nil, false, fmt.Errorf("list its %s: more than %d MiB, or an entry nested deeper than %d levels", field, maxListBytes>>20, maxNesting)
			}
			if len(out) == maxEntries {
				return out, true, nil
			}
			if method != string(mcp.MethodToolsList) || c.repeats(e) {
				out = append(out, e)
			}
		}
		next := ""
		if json.Unmarshal(page["nextCursor"], &next) != nil || next == "" || next == cursor {
			return out, false, nil
		}
		cursor = next
	}
	return out, true, nil
}

// repeats records the arguments of a tool that are repeated in headers. It returns false for a tool that cannot be called: in
// the stateless revision over HTTP, tools whose schemas require impossible headers must be omitted (SEP-2243).
func (c *Conn) repeats(raw json.RawMessage) bool {
	if !c.modern() || !c.overHTTP() {
		return true
	}
	var tool mcp.Tool
	if json.Unmarshal(raw, &tool) != nil {
		return true // an invalid schema requires no headers
	}
	if mcp.ValidateParamHeaderAnnotations(&tool) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repeated[tool.Name] = tool
	return true
}

// Listen requests the notifications of a server of the stateless revision about its lists, in the background until Close. After an error
// of the server the lists are requested at the next start.
func (c *Conn) Listen() {
	s := &c.hello.Capabilities
	if c.modern() && (s.Tools != nil && s.Tools.ListChanged || s.Prompts != nil && s.Prompts.ListChanged) {
		c.listen(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	}
}

// listen requests notifications until Close. Servers and proxies end streams after a time: then it requests them again, and reports that the
// lists may have changed.
func (c *Conn) listen(filter mcp.SubscriptionFilter) {
	c.running.Go(func() { // ends with Close at the latest
		life := c.running.Life()
		for wait := 100 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
			_, err := c.Request(life, string(mcp.MethodSubscriptionsListen), map[string]any{"notifications": filter})
			if err != nil && !Broken(err) || pause.For(life, wait) != nil {
				return
			}
			if filter.ToolsListChanged {
				c.dialer.Notified(string(mcp.MethodNotificationToolsListChanged), nil)
			}
		}
	})
}

// Subscribe requests notifications/resources/updated for a resource.
func (c *Conn) Subscribe(ctx context.Context, uri string) error {
	if c.modern() {
		c.listen(mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
		return nil
	}
	_, err := c.Request(ctx, string(mcp.MethodResourcesSubscribe), map[string]any{"uri": uri})
	return err
}

// SetLogLevel requests the log messages of a level and above from a server of the older revisions; in the stateless one, each request
// names the level.
func (c *Conn) SetLogLevel(ctx context.Context, level string) {
	if c.modern() {
		c.logLevel.Store(&level)
	} else if c.hello.Capabilities.Logging != nil {
		_, _ = c.Request(ctx, string(mcp.MethodSetLogLevel), map[string]any{"level": level}) // after an error the server keeps its own level
	}
}

// Complete returns the server's suggestions for the argument of a prompt. given are the other arguments.
func (c *Conn) Complete(ctx context.Context, prompt, argument, value string, given map[string]string) ([]string, error) {
	params := map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": prompt}, "argument": map[string]any{"name": argument, "value": value},
	}
	if len(given) > 0 {
		params["context"] = map[string]any{"arguments": given}
	}
	raw, err := c.Request(ctx, string(mcp.MethodCompletionComplete), params)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Completion struct{ Values []string }
	}
	err = json.Unmarshal(raw, &answer)
	return answer.Completion.Values, err
}
