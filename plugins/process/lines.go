package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// lineClient calls a process that speaks lines.
type lineClient struct {
	conn    *jsonline.Conn
	take    atomic.Pointer[func(*tenonv1.HostRequest)] // takes requests of the process; nil until host was called
	serving sync.WaitGroup                             // the goroutine that reads
}

// close ends the connection and waits for the client's goroutine. Messages that came before can still be received.
func (c *lineClient) close() {
	c.conn.Close()
	c.serving.Wait()
}

func (c *lineClient) call(ctx context.Context, r *request, notify func(*note) error) (json.RawMessage, error) {
	body, err := jsontext.Marshal(r.params())
	if err != nil {
		return nil, err
	}
	if len(body) > process.MaxMessage {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes", len(body))
	}
	call, err := c.conn.Start(ctx, r.Method, body)
	if err != nil {
		return nil, lineError(ctx, r.Method, err)
	}
	for {
		m, err := call.Next()
		if err != nil {
			return nil, lineError(ctx, r.Method, err)
		}
		if m.Method == "" {
			return m.Result, nil
		}
		var one note
		if m.Method != notifications[r.Method] || json.Unmarshal(m.Params, &one) != nil {
			continue
		}
		if err := notify(&one); err != nil {
			return nil, err
		}
	}
}

// notifications are the notifications of methods.
var notifications = map[string]string{"tool": "progress", "stream": "stream_event"}

// params returns the parameters of the call.
func (r *request) params() map[string]any {
	connection := map[string]any{"protocol": r.Connection.Protocol, "provider": r.Connection.Provider, "key": r.Connection.Key}
	switch r.Method {
	case "start":
		return map[string]any{"request": r.Body, "grants": r.grants, "host": r.host}
	case "tool", "prepare":
		return map[string]any{"tool": r.Tool, "call": r.Body, "token": r.Token, "timeout_ms": r.timeout}
	case "auth":
		return map[string]any{"request": r.Body, "token": r.Token, "timeout_ms": r.timeout}
	case "stream":
		return map[string]any{"connection": connection, "request": r.Body, "token": r.Token}
	case "list_models":
		return map[string]any{"connection": connection}
	}
	return map[string]any{}
}

// lineError returns the error of a call.
func lineError(ctx context.Context, method string, err error) error {
	problem, ok := errors.AsType[*jsonline.Error](err)
	switch {
	case !ok && errors.Is(err, context.Cause(ctx)):
		return ctx.Err()
	case !ok:
		return err
	case problem.Code == jsonline.CodeMethodNotFound:
		return status.Error(codes.Unimplemented, "method "+method+" not implemented")
	}
	var data struct {
		Refused bool `json:"refused"`
		Halt    bool `json:"halt"`
	}
	_ = json.Unmarshal(problem.Data, &data) // optional
	message := cmp.Or(problem.Message, noMessage)
	switch {
	case data.Refused:
		return &sdk.Refusal{Reason: message, Halt: data.Halt}
	case method != "stream" && method != "list_models":
		return errors.New(message)
	}
	reported := &guest.ProviderError{}
	if json.Unmarshal(problem.Data, reported) != nil {
		reported = &guest.ProviderError{}
	}
	if reported.Message == "" && reported.Cause == "" {
		reported.Cause = problem.Message
	}
	return reported.Err("")
}

func (c *lineClient) hooks(context.Context, *instance) error { return nil }

func (c *lineClient) begin(ctx context.Context, req *tenonv1.HookRequest, take func(*tenonv1.HookResponse)) (sent bool) {
	req.Id = c.conn.NextID()
	sent, _ = c.conn.Ask(ctx, req.Id, "hook", hookParams(req), func(m *jsonline.Message) {
		if m.Method == "" { // a hook has no notifications
			take(hookResponse(m))
		}
	})
	return sent
}

func (c *lineClient) cancel(id uint64) { c.conn.Cancel(id) }

// hookParams encodes the parameters of a hook. Its request is JSON already.
func hookParams(req *tenonv1.HookRequest) []byte {
	out := make([]byte, 0, len(req.Request)+128)
	out = strconv.AppendUint(append(out, `{"hook":`...), uint64(req.Hook), 10)
	out = append(append(out, `,"request":`...), req.Request...)
	out = append(append(append(out, `,"token":"`...), req.Token...), `","timeout_ms":`...)
	return append(strconv.AppendUint(out, uint64(req.TimeoutMs), 10), '}')
}

func hookResponse(m *jsonline.Message) *tenonv1.HookResponse {
	switch {
	case m.Error != nil:
		return &tenonv1.HookResponse{Error: cmp.Or(m.Error.Message, "the hook failed without a message")}
	case string(m.Result) == "null":
		return &tenonv1.HookResponse{}
	}
	return &tenonv1.HookResponse{Answer: m.Result}
}
