package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tenonhq/tenon/sdk"
)

// ErrNoMethod is wrapped by the error of Answer for a method that the plugin or this sdk does not have.
var ErrNoMethod = errors.New("method not found")

// Request is a call of the host, except that of a hook.
type Request struct {
	Method     string          // as in the line protocol, see docs/process-protocol.md
	Tool       int             // number of the tool, of prepare and tool
	Body       json.RawMessage // the request of start, auth and stream; the call of prepare and tool
	Connection Connection      // of stream and list_models
}

// Side is the host during a call.
type Side struct {
	Host  func(*StartRequest) sdk.Host  // of the whole plugin, for start
	Call  Caller                        // sends operations on behalf of the call
	Event func(e sdk.StreamEvent) error // sends an event of a model's answer
	Log   *slog.Logger
}

// Answer answers a call. The result encodes as the JSON of the answer; nil means that it has none.
func (g *Guest) Answer(ctx context.Context, r *Request, host *Side) (any, error) {
	switch r.Method {
	case "describe":
		return g.Describe()
	case "start":
		req, err := decode[StartRequest]("start request", r.Body)
		if err != nil {
			return nil, err
		}
		return nil, g.Start(ctx, req, host.Host(req))
	case "prepare", "tool":
		call, err := decode[sdk.ToolCall]("tool call", r.Body)
		if err != nil {
			return nil, err
		}
		call.Host = NewToolHost(host.Call, host.Log)
		if r.Method == "prepare" {
			return g.Prepare(ctx, r.Tool, call)
		}
		return g.Tool(ctx, r.Tool, call)
	case "auth":
		req, err := decode[AuthRequest]("sign-in", r.Body)
		if err != nil {
			return nil, err
		}
		return g.auth(ctx, req, host.Call)
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
