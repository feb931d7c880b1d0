package offline

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/sdk"
)

// bytesPerToken is the usual estimate for English text and code.
const bytesPerToken = 4

// argumentDelta is how many bytes of a tool call's arguments come at a time.
const argumentDelta = 16

// client answers the requests of one provider.
type client struct {
	id     string
	script func() (*script, error) // nil without one; read on first use

	mu     sync.Mutex
	failed map[place]int // errors of the script given so far, by the place they stand at
}

var (
	_ sdk.ModelClient = (*client)(nil)
	_ sdk.ModelLister = (*client)(nil)
)

func newClient(info sdk.ProviderInfo, dir string) (*client, error) {
	c := &client{id: info.ID, failed: map[place]int{}}
	path, ok := info.Options["script"].(string)
	switch {
	case info.Options["script"] == nil:
		return c, nil
	case !ok || path == "":
		return nil, fmt.Errorf("provider %s: options.script is %v, want the path of a file", info.ID, info.Options["script"])
	case !filepath.IsAbs(path):
		path = filepath.Join(dir, path)
	}
	c.script = sync.OnceValues(func() (*script, error) { return readScript(path) })
	return c, nil
}

// ListModels returns nothing beyond the table.
func (*client) ListModels(context.Context) ([]sdk.Model, error) { return nil, nil }

// reply is one whole answer.
type reply struct {
	reasoning string
	text      string
	calls     []replyCall
	finish    string // a Finish constant; empty follows from the calls
	delay     time.Duration
	err       *sdk.ProviderError // after everything else
}

type replyCall struct {
	id, tool, args string
}

// Stream answers the request, a word at a time.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	in := requestTokens(req)
	if limit := req.Model.Limit.Context; limit > 0 && in > limit {
		return &sdk.ProviderError{
			ProviderID: c.id, StatusCode: http.StatusBadRequest, Code: "context_length_exceeded",
			Message: fmt.Sprintf("the maximum context length is %d tokens, the request has about %d", limit, in),
		}
	}
	r, err := c.reply(req)
	if err != nil {
		return err
	}
	if err := wait(ctx, r.delay); err != nil {
		return err
	}
	s := &sender{ctx: ctx, sink: sink}
	s.reply(r)
	if s.err == nil && r.err != nil {
		return r.err
	}
	s.finish(r, in)
	return s.err
}

func (c *client) reply(req *sdk.ModelRequest) (*reply, error) {
	switch req.Purpose {
	case sdk.PurposeTitle:
		return &reply{text: title(req)}, nil
	case sdk.PurposeCompaction:
		return &reply{text: summary(req)}, nil
	}
	if c.script == nil {
		return literal(req), nil
	}
	s, err := c.script()
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.id, err)
	}
	return c.scripted(s, req), nil
}

// sender streams one reply and keeps the first error.
type sender struct {
	ctx  context.Context // of the Stream call the sender lives in
	sink func(sdk.StreamEvent) error
	sent int // bytes
	err  error
}

func (s *sender) reply(r *reply) {
	for word := range words(r.reasoning) {
		s.send(sdk.StreamEvent{Type: sdk.StreamReasoning, ID: "reasoning", Text: word})
	}
	for word := range words(r.text) {
		s.send(sdk.StreamEvent{Type: sdk.StreamText, ID: "text", Text: word})
	}
	for i, call := range r.calls {
		id := fmt.Sprintf("call-%d", i)
		s.send(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, CallID: call.id, Tool: call.tool})
		for rest := call.args; rest != ""; {
			n := min(len(rest), argumentDelta)
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			s.send(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, Text: rest[:n]})
			rest = rest[n:]
		}
	}
}

func (s *sender) finish(r *reply, in int64) {
	reason := r.finish
	switch {
	case reason != "":
	case len(r.calls) > 0:
		reason = sdk.FinishToolCalls
	default:
		reason = sdk.FinishStop
	}
	t := sdk.Tokens{Input: in, Output: int64(s.sent+bytesPerToken-1) / bytesPerToken}
	t.Total = t.Sum()
	s.send(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: reason, Tokens: t})
}

func (s *sender) send(ev sdk.StreamEvent) {
	if s.err != nil {
		return
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return
	}
	s.sent += len(ev.Text) + len(ev.Tool)
	s.err = s.sink(ev)
}

// words cuts text behind each run of white space.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			n := strings.IndexAny(text, " \t\n")
			if n < 0 {
				n = len(text)
			}
			for n < len(text) && strings.IndexByte(" \t\n", text[n]) >= 0 {
				n++
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// requestTokens estimates the tokens of a request.
func requestTokens(req *sdk.ModelRequest) int64 {
	n := 0
	for _, s := range req.System {
		n += len(s)
	}
	for i := range req.Tools {
		n += len(req.Tools[i].ID) + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Content {
			c := &req.Messages[i].Content[j]
			n += len(c.Text) + len(c.Tool) + len(c.Args)
		}
	}
	return int64(n+bytesPerToken-1) / bytesPerToken
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
