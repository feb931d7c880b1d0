package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// lineClient is the client of a process that speaks lines. It does not handle hooks, see lineHooks. Methods and parameters have the names in
// plugin.proto; bytes that contain JSON are sent as JSON.
type lineClient struct {
	conn     *jsonline.Conn
	requests chan *tenonv1.HostRequest // of the process
	hosted   atomic.Bool               // Host was called
	serving  sync.WaitGroup            // the goroutine that reads
}

var _ tenonv1.PluginClient = (*lineClient)(nil)

// serveLines reads from the process. broken is called if the connection ends first, with its error. The caller closes the client.
func serveLines(conn *jsonline.Conn, broken func(error)) *lineClient {
	c := &lineClient{conn: conn, requests: make(chan *tenonv1.HostRequest, maxRequests)}
	c.serving.Go(func() { broken(c.conn.Serve(c.fromProcess)) }) // ends with close, or the process
	return c
}

// close ends the connection and waits for the client's goroutine. Messages that came before can still be received.
func (c *lineClient) close() {
	c.conn.Close()
	c.serving.Wait()
}

// lineParams encodes the parameters of a method.
func lineParams(params any) (json.RawMessage, error) {
	body, err := jsontext.Marshal(params)
	if err == nil && len(body) > process.MaxMessage {
		err = status.Errorf(codes.ResourceExhausted, "%d bytes", len(body))
	}
	return body, err
}

// call calls a method that has no notifications.
func (c *lineClient) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := lineParams(params)
	if err != nil {
		return nil, err
	}
	return c.conn.Call(ctx, method, body)
}

// lineStream is the stream of a call. convert converts its messages, and its end; nil skips a message.
type lineStream[T any] struct {
	grpc.ClientStream // nil
	ctx               context.Context
	method            string
	call              *jsonline.Call
	convert           func(m *jsonline.Message, err error) (*T, error)
}

// stream calls a method that has notifications.
func stream[T any](ctx context.Context, c *lineClient, method string, params any, convert func(*jsonline.Message, error) (*T, error)) (*lineStream[T], error) {
	body, err := lineParams(params)
	if err != nil {
		return nil, err
	}
	call, err := c.conn.Start(ctx, method, body)
	return &lineStream[T]{ctx: ctx, method: method, call: call, convert: convert}, statusOf(ctx, method, err)
}

// Recv returns the next message; io.EOF at the end.
func (s *lineStream[T]) Recv() (*T, error) {
	for {
		if out, err := s.convert(s.call.Next()); out != nil || err != nil {
			return out, statusOf(s.ctx, s.method, err)
		}
	}
}

// statusOf returns the gRPC status for a failed call, which explain expects.
func statusOf(ctx context.Context, method string, err error) error {
	var problem *jsonline.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return ctx.Err()
	case errors.As(err, &problem) && problem.Code == jsonline.CodeMethodNotFound:
		return status.Error(codes.Unimplemented, "method "+method+" not implemented")
	case errors.As(err, &problem):
		return status.Error(codes.Unknown, cmp.Or(problem.Message, "the plugin failed without a message"))
	case errors.Is(err, jsonline.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	}
	return err
}

// Describe asks for the contributions of the plugin.
func (c *lineClient) Describe(ctx context.Context, _ *tenonv1.DescribeRequest, _ ...grpc.CallOption) (*tenonv1.DescribeResponse, error) {
	result, err := c.call(ctx, "describe", struct{}{})
	return &tenonv1.DescribeResponse{Description: result}, statusOf(ctx, "describe", err)
}

// Start starts the plugin.
func (c *lineClient) Start(ctx context.Context, req *tenonv1.StartRequest, _ ...grpc.CallOption) (*tenonv1.StartResponse, error) {
	_, err := c.call(ctx, "start", struct {
		Request json.RawMessage `json:"request"`
		Grants  json.RawMessage `json:"grants"`
		Host    string          `json:"host"`
	}{req.Request, req.Grants, req.Host})
	return &tenonv1.StartResponse{}, statusOf(ctx, "start", err)
}

// Stop ends the plugin.
func (c *lineClient) Stop(ctx context.Context, _ *tenonv1.StopRequest, _ ...grpc.CallOption) (*tenonv1.StopResponse, error) {
	_, err := c.call(ctx, "stop", struct{}{})
	return &tenonv1.StopResponse{}, statusOf(ctx, "stop", err)
}

// Hooks is not used.
func (c *lineClient) Hooks(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[tenonv1.HookRequest, tenonv1.HookResponse], error) {
	return nil, errors.ErrUnsupported
}

// lineHooks sends the calls of hooks as lines.
type lineHooks struct{ conn *jsonline.Conn }

func (l lineHooks) begin(ctx context.Context, req *tenonv1.HookRequest, take func(*tenonv1.HookResponse)) (sent bool) {
	req.Id = l.conn.NextID()
	sent, _ = l.conn.Ask(ctx, req.Id, "hook", hookParams(req), func(m *jsonline.Message) {
		if m.Method == "" { // a hook has no notifications
			take(hookResponse(m))
		}
	})
	return sent
}

func (l lineHooks) cancel(id uint64) { l.conn.Cancel(id) }

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

// lineID names the call that a notification belongs to.
type lineID struct {
	ID uint64 `json:"id"`
}

// lineCall are the parameters of a tool call.
type lineCall struct {
	Tool    uint32          `json:"tool"`
	Call    json.RawMessage `json:"call"`
	Token   string          `json:"token"`
	Timeout uint32          `json:"timeout_ms"`
}

// Prepare asks for the permissions of a tool call.
func (c *lineClient) Prepare(ctx context.Context, req *tenonv1.PrepareRequest, _ ...grpc.CallOption) (*tenonv1.PrepareResponse, error) {
	result, err := c.call(ctx, "prepare", lineCall{req.Tool, req.Call, req.Token, timeLeft(ctx)})
	if failure := failureOf(err); failure != nil {
		return &tenonv1.PrepareResponse{Failure: failure}, nil
	}
	return &tenonv1.PrepareResponse{Response: result}, statusOf(ctx, "prepare", err)
}

// Tool runs a tool call.
func (c *lineClient) Tool(ctx context.Context, req *tenonv1.ToolRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[tenonv1.ToolResponse], error) {
	return stream(ctx, c, "tool", lineCall{req.Tool, req.Call, req.Token, timeLeft(ctx)}, func(m *jsonline.Message, err error) (*tenonv1.ToolResponse, error) {
		var progress struct {
			Title    string          `json:"title"`
			Metadata json.RawMessage `json:"metadata"`
		}
		switch failure := failureOf(err); {
		case failure != nil:
			return &tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure}}, nil
		case err != nil:
			return nil, err
		case m.Method == "":
			return &tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: m.Result}}, nil
		case m.Method != "progress" || json.Unmarshal(m.Params, &progress) != nil:
			return nil, nil
		}
		return &tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{
			Progress: &tenonv1.Progress{Title: progress.Title, Metadata: progress.Metadata},
		}}, nil
	})
}

// failureOf returns the failure that the plugin reported; nil if it reported none.
func failureOf(err error) *tenonv1.Failure {
	var problem *jsonline.Error
	if !errors.As(err, &problem) || problem.Code == jsonline.CodeMethodNotFound {
		return nil
	}
	var data struct {
		Refused bool `json:"refused"`
		Halt    bool `json:"halt"`
	}
	_ = json.Unmarshal(problem.Data, &data) // optional
	return &tenonv1.Failure{Message: problem.Message, Refused: data.Refused, Halt: data.Halt}
}

// lineConnection is a Connection.
type lineConnection struct {
	Protocol string          `json:"protocol"`
	Provider json.RawMessage `json:"provider"`
	Key      string          `json:"key"`
}

func connectionOf(c *tenonv1.Connection) lineConnection {
	return lineConnection{c.GetProtocol(), c.GetProvider(), c.GetKey()}
}

// Stream sends a request to a model.
func (c *lineClient) Stream(ctx context.Context, req *tenonv1.StreamRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[tenonv1.StreamResponse], error) {
	return stream(ctx, c, "stream", struct {
		Connection lineConnection  `json:"connection"`
		Request    json.RawMessage `json:"request"`
		Token      string          `json:"token"`
	}{connectionOf(req.Connection), req.Request, req.Token}, func(m *jsonline.Message, err error) (*tenonv1.StreamResponse, error) {
		var part struct {
			Event json.RawMessage `json:"event"`
		}
		switch problem := providerErrorOf(err); {
		case problem != nil:
			return &tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: problem}}, nil
		case err != nil:
			return nil, err
		case m.Method == "":
			return nil, io.EOF
		case m.Method != "stream_event" || json.Unmarshal(m.Params, &part) != nil:
			return nil, nil
		}
		return &tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: part.Event}}, nil
	})
}

// ListModels asks for the models of a provider.
func (c *lineClient) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest, _ ...grpc.CallOption) (*tenonv1.ListModelsResponse, error) {
	params := map[string]any{"connection": connectionOf(req.Connection)}
	result, err := c.call(ctx, "list_models", params)
	if problem := providerErrorOf(err); problem != nil {
		return &tenonv1.ListModelsResponse{Error: problem}, nil
	}
	return &tenonv1.ListModelsResponse{Models: result}, statusOf(ctx, "list_models", err)
}

// Auth asks a sign-in method for something.
func (c *lineClient) Auth(ctx context.Context, req *tenonv1.AuthRequest, _ ...grpc.CallOption) (*tenonv1.AuthResponse, error) {
	result, err := c.call(ctx, "auth", struct {
		Request json.RawMessage `json:"request"`
		Token   string          `json:"token"`
		Timeout uint32          `json:"timeout_ms"`
	}{req.Request, req.Token, timeLeft(ctx)})
	if failure := failureOf(err); failure != nil {
		return &tenonv1.AuthResponse{Failure: failure}, nil
	}
	return &tenonv1.AuthResponse{Answer: result}, statusOf(ctx, "auth", err)
}

// providerErrorOf returns the error of a model request that the plugin reported; nil if it reported none.
func providerErrorOf(err error) *tenonv1.ProviderError {
	var problem *jsonline.Error
	if !errors.As(err, &problem) || problem.Code == jsonline.CodeMethodNotFound {
		return nil
	}
	out := &tenonv1.ProviderError{}
	if json.Unmarshal(problem.Data, out) != nil {
		out = &tenonv1.ProviderError{}
	}
	if out.Message == "" && out.Cause == "" {
		out.Cause = problem.Message
	}
	return out
}

// errNotLines is wrapped by the reason for ending a process that sends invalid messages.
var errNotLines = errors.New("it does not speak the line protocol")

// connectionBroke returns the reason for ending a process whose connection ended before it.
func connectionBroke(err error) error {
	if errors.Is(err, jsonline.ErrBadMessage) || errors.Is(err, jsonline.ErrTooLong) {
		return fmt.Errorf("%w: %w", errNotLines, err)
	}
	return errors.New("it closed the connection")
}

// awaitEnd waits for the end of a process whose connection ended; usually both end together. It returns false if the process continues.
func awaitEnd(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-time.After(endTime / 2): // before calls stop waiting for the end
		return false
	}
}
