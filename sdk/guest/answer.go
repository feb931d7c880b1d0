package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// ErrNoMethod is wrapped by the error of Answer for a method that the plugin or this sdk does not have.
var ErrNoMethod = errors.New("method not found")

// Request is a call of the host.
type Request struct {
	Method     string          // as in the line protocol, see docs/process-protocol.md
	Token      string          // identifies the call to the host
	Hook       int             // number of the hook, of hook
	Tool       int             // number of the tool, of prepare and tool
	Body       json.RawMessage // the request of hook, start, auth and stream; the call of prepare and tool
	Connection Connection      // of stream and list_models
}

// Side is what a wire sends to the host for the plugin.
type Side struct {
	Log       *slog.Logger
	Call      Caller // an operation, on behalf of the call whose token is in the context
	Subscribe Subscribe

	Progress func(title string, metadata sdk.Object) error // of this tool call; nil: it is an operation
	Event    func(e sdk.StreamEvent) error                 // of the model's answer
}

// AnswerJSON answers a call with JSON of at most MaxBody bytes; without any if the answer is empty. A panic is an error.
func (g *Guest) AnswerJSON(ctx context.Context, r *Request, host *Side) (json.RawMessage, error) {
	body, err := Guard(host.Log, func() (json.RawMessage, error) {
		if r.Method == "hook" { // called often: its answer is encoded once
			answer, err := g.Hook(WithToken(ctx, r.Token), r.Hook, r.Body)
			if err != nil {
				return nil, err
			}
			return AppendAnswer(nil, &answer)
		}
		answer, err := g.Answer(ctx, r, host)
		if err != nil || answer == nil {
			return nil, err
		}
		return jsontext.Marshal(answer)
	})
	if err == nil {
		err = CheckSize("answer", body)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// CheckSize returns an error if the body of a message is too large for it.
func CheckSize(what string, body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("the %s has %d bytes, at most %d MiB are passed on", what, len(body), MaxMessage>>20)
	}
	return nil
}

// Answer answers a call that is not one of a hook. The result encodes as the JSON of the answer; nil means that it has none.
func (g *Guest) Answer(ctx context.Context, r *Request, host *Side) (any, error) {
	ctx = WithToken(ctx, r.Token)
	call := host.Call.with(r.Token)
	switch r.Method {
	case "describe":
		return g.Describe()
	case "start":
		req, err := decode[StartRequest]("start request", r.Body)
		if err != nil {
			return nil, err
		}
		return nil, g.Start(ctx, req, newHost(req, host))
	case "prepare", "tool":
		toolCall, err := decode[sdk.ToolCall]("tool call", r.Body)
		if err != nil {
			return nil, err
		}
		toolCall.Host = newToolHost(call, host)
		if r.Method == "prepare" {
			return g.Prepare(ctx, r.Tool, toolCall)
		}
		return g.Tool(ctx, r.Tool, toolCall)
	case "auth":
		req, err := decode[AuthRequest]("sign-in", r.Body)
		if err != nil {
			return nil, err
		}
		return g.auth(ctx, req, call)
	case "stream":
		req, err := decode[sdk.ModelRequest]("model request", r.Body)
		if err != nil {
			return nil, err
		}
		client, err := g.client(&r.Connection)
		if err != nil {
			return nil, err
		}
		return nil, client.Stream(ctx, req, host.Event)
	case "list_models":
		return g.models(ctx, &r.Connection)
	case "stop":
		return nil, g.Close(ctx)
	}
	return nil, fmt.Errorf("%w: %s", ErrNoMethod, r.Method)
}

// decode decodes the JSON of a request. The error begins with its name.
func decode[T any](name string, data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}
