package offline

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// bytesPerToken is the usual estimate for English text and code.
const bytesPerToken = 4

// client answers the requests of one provider.
type client struct {
	id     string
	script func() (*script, error) // reads the script on first use; nil without one
}

var (
	_ sdk.ModelClient = (*client)(nil)
	_ sdk.ModelLister = (*client)(nil)
)

func newClient(info sdk.ProviderInfo, dir string) (*client, error) {
	c := &client{id: info.ID}
	path, ok := info.Options["script"].(string)
	switch {
	case info.Options["script"] == nil:
		return c, nil
	case !ok || path == "":
		return nil, fmt.Errorf("options.script is %v, want the path of a file", info.Options["script"])
	case !filepath.IsAbs(path):
		path = filepath.Join(dir, path)
	}
	c.script = sync.OnceValues(func() (*script, error) { return readScript(path) })
	return c, nil
}

// ListModels returns nothing beyond the table.
func (*client) ListModels(context.Context) ([]sdk.Model, error) { return nil, nil }

// Stream answers the request in small pieces.
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
	sent := 0
	for _, ev := range r.events(req) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := sink(ev); err != nil {
			return err
		}
		sent += len(ev.Text) + len(ev.Tool)
	}
	t := sdk.Tokens{Input: in, Output: tokens(sent)}
	t.Total = t.Sum()
	return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: r.reason(), Tokens: t})
}

func (c *client) reply(req *sdk.ModelRequest) (*step, error) {
	switch {
	case req.Purpose == sdk.PurposeTitle:
		return &step{Text: title(req)}, nil
	case req.Purpose == sdk.PurposeCompaction:
		return &step{Text: "The offline model does not summarize: earlier messages are left out."}, nil
	case c.script == nil, req.Purpose == sdk.PurposeSubtask:
		return literal(req), nil
	}
	s, err := c.script()
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.id, err)
	}
	return s.reply(req.Messages), nil
}

// events returns the reply as stream events, without the last one.
func (s *step) events(req *sdk.ModelRequest) []sdk.StreamEvent {
	var list []sdk.StreamEvent
	add := func(kind, id, text, separator string) {
		for _, piece := range strings.SplitAfter(text, separator) {
			if piece != "" {
				list = append(list, sdk.StreamEvent{Type: kind, ID: id, Text: piece})
			}
		}
	}
	add(sdk.StreamReasoning, "reasoning", s.Reasoning, " ")
	add(sdk.StreamText, "text", s.Text, " ")
	for i, call := range s.ToolCalls {
		id := fmt.Sprintf("call-%d", i)
		list = append(list, sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, CallID: callID(req, s.at, i), Tool: call.Tool})
		add(sdk.StreamToolCall, id, call.arguments(), ":")
	}
	return list
}

func (s *step) reason() string {
	if len(s.ToolCalls) > 0 {
		return sdk.FinishToolCalls
	}
	return sdk.FinishStop
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
	return tokens(n)
}

func tokens(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }
