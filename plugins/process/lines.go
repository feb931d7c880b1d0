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
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// lineClient is the client of a process that speaks lines. It does not handle hooks, which hookStream sends to conn. Methods and parameters
// have the names in plugin.proto; bytes that contain JSON are sent as JSON.
type lineClient struct {
	conn     *jsonline.Conn
	requests chan *tenonv1.HostRequest // of the process
	hosted   atomic.Bool               // Host was called

	life context.Context // ends in close, and with it all calls
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool           // no further goroutine may start
	ended  sync.WaitGroup // counts the goroutines
}

var _ tenonv1.PluginClient = (*lineClient)(nil)

// serveLines reads from the process. broken is called if the connection ends first, with its error. The caller closes the client.
func serveLines(conn *jsonline.Conn, broken func(error)) *lineClient {
	c := &lineClient{conn: conn, requests: make(chan *tenonv1.HostRequest, maxRequests)}
	c.life, c.end = context.WithCancel(guest.Detached())
	c.ended.Go(func() { broken(c.conn.Serve(c.fromProcess)) }) // ends with close, or the process
	return c
}

// close ends the connection and waits for the client's goroutines. Messages that came before can still be received for a moment.
func (c *lineClient) close() {
	c.conn.Close()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	late := time.AfterFunc(endTime, c.end)
	c.ended.Wait()
	late.Stop()
	c.end()
}

// do calls a method of the process. each receives the notifications that belong to the call; it may be nil. If the process does not read, do
// returns only when the connection ends.
func (c *lineClient) do(ctx context.Context, method string, params any, each func(*jsonline.Message) error) (json.RawMessage, error) {
	body, err := jsontext.Marshal(params)
	if err != nil {
		return nil, err
	}
	if len(body) > process.MaxMessage {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes", len(body))
	}
	result, err := c.conn.Call(ctx, method, body, each)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = ctx.Err()
	}
	return result, err
}

// call calls a method that has no notifications.
func (c *lineClient) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	result, err := stream(ctx, c, func(ctx context.Context, send func(*json.RawMessage, int) error) error {
		result, err := c.do(ctx, method, params, nil)
		if err != nil {
			return err
		}
		return send(&result, len(result))
	}).Recv()
	if err != nil {
		return nil, err
	}
	return *result, nil
}

// lineStream is the stream of a call. It holds some messages that were not received yet: while a call has too many of them, nothing more is
// read from the process, so its other calls get no answers.
type lineStream[T any] struct {
	grpc.ClientStream // nil
	ctx               context.Context
	received          chan lineMessage[T]
	held              atomic.Int64  // bytes of the messages in received, and of the next one
	room              chan struct{} // has an element after a message was received
	err               error         // the reason for the end; read it after received is closed
}

type lineMessage[T any] struct {
	content *T
	bytes   int64
}

// Limits of the messages that a stream holds. One larger message fits, too.
const (
	maxHeld      = 1024
	maxHeldBytes = 256 << 10
)

// stream returns the stream of a call, which run makes in a goroutine; send passes a message of that many bytes on. The goroutine ends with
// the call, or in close if the process does not read or the messages are not received.
func stream[T any](ctx context.Context, c *lineClient, run func(ctx context.Context, send func(*T, int) error) error) *lineStream[T] {
	s := &lineStream[T]{ctx: ctx, received: make(chan lineMessage[T], maxHeld), room: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.err = status.Error(codes.Unavailable, jsonline.ErrClosed.Error())
		close(s.received)
		return s
	}
	c.ended.Go(func() {
		defer close(s.received)
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		s.err = run(within, func(message *T, bytes int) error { return s.send(within, message, bytes) })
		if s.err != nil && c.life.Err() != nil && ctx.Err() == nil {
			s.err = status.Error(codes.Unavailable, jsonline.ErrClosed.Error())
		}
	})
	return s
}

func (s *lineStream[T]) send(ctx context.Context, message *T, bytes int) error {
	size := int64(bytes)
	for held := s.held.Add(size); held > maxHeldBytes && held > size; held = s.held.Load() {
		select {
		case <-s.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case s.received <- lineMessage[T]{message, size}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recv returns the next message; io.EOF at the end.
func (s *lineStream[T]) Recv() (*T, error) {
	select {
	case message, ok := <-s.received:
		if !ok {
			return nil, cmp.Or(s.err, io.EOF)
		}
		s.held.Add(-message.bytes)
		select {
		case s.room <- struct{}{}:
		default:
		}
		return message.content, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// statusOf returns the gRPC status for a failed call, which explain expects.
func statusOf(method string, err error) error {
	var problem *jsonline.Error
	switch {
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
	return &tenonv1.DescribeResponse{Description: result}, statusOf("describe", err)
}

// Start starts the plugin.
func (c *lineClient) Start(ctx context.Context, req *tenonv1.StartRequest, _ ...grpc.CallOption) (*tenonv1.StartResponse, error) {
	_, err := c.call(ctx, "start", struct {
		Request json.RawMessage `json:"request"`
		Grants  json.RawMessage `json:"grants"`
		Host    string          `json:"host"`
	}{req.Request, req.Grants, req.Host})
	return &tenonv1.StartResponse{}, statusOf("start", err)
}

// Stop ends the plugin.
func (c *lineClient) Stop(ctx context.Context, _ *tenonv1.StopRequest, _ ...grpc.CallOption) (*tenonv1.StopResponse, error) {
	_, err := c.call(ctx, "stop", struct{}{})
	return &tenonv1.StopResponse{}, statusOf("stop", err)
}

// Hooks is not used.
func (c *lineClient) Hooks(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[tenonv1.HookRequest, tenonv1.HookResponse], error) {
	return nil, errors.ErrUnsupported
}

// lineHooks sends hooks to a process. deliver gets the answers in a goroutine that reads from the process, and must not block.
type lineHooks struct {
	conn    *jsonline.Conn
	deliver func(*tenonv1.HookResponse)
	queue   chan<- *tenonv1.HookRequest // to the goroutine that calls send
}

// try sends a request if that does not block. Then it waits some milliseconds for the answer, unless another goroutine reads from the process.
func (l *lineHooks) try(req *tenonv1.HookRequest) bool {
	sent, whole := l.conn.TryBegin(req.Id, "hook", hookParams(req), l.take(req.Id))
	if sent && !whole {
		select {
		case l.queue <- &tenonv1.HookRequest{}:
		default: // the next message in the queue is written after the rest
		}
	}
	if sent {
		l.conn.Await(req.Id)
	}
	return sent
}

// send sends a request, or cancels it. A request without an ID stands for the rest of a request of try.
func (l *lineHooks) send(req *tenonv1.HookRequest) error {
	switch {
	case req.Id == 0:
		return l.conn.Flush()
	case req.Cancel:
		return l.conn.Notify("cancel", lineID{req.Id})
	}
	return l.conn.Begin(req.Id, "hook", hookParams(req), l.take(req.Id))
}

func (l *lineHooks) take(id uint64) func(*jsonline.Message) {
	return func(m *jsonline.Message) {
		if m.Method == "" { // a hook has no notifications
			l.deliver(hookResponse(id, m))
		}
	}
}

// hookParams encodes the parameters of a hook. Its request is JSON already.
func hookParams(req *tenonv1.HookRequest) []byte {
	out := make([]byte, 0, len(req.Request)+128)
	out = strconv.AppendUint(append(out, `{"hook":`...), uint64(req.Hook), 10)
	out = append(append(out, `,"request":`...), req.Request...)
	out = append(append(append(out, `,"token":"`...), req.Token...), `","timeout_ms":`...)
	return append(strconv.AppendUint(out, uint64(req.TimeoutMs), 10), '}')
}

func hookResponse(id uint64, m *jsonline.Message) *tenonv1.HookResponse {
	switch {
	case m.Error != nil:
		return &tenonv1.HookResponse{Id: id, Error: cmp.Or(m.Error.Message, "the hook failed without a message")}
	case string(m.Result) == "null":
		return &tenonv1.HookResponse{Id: id}
	}
	return &tenonv1.HookResponse{Id: id, Answer: m.Result}
}

// lineID is the parameter of "cancel".
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
	return &tenonv1.PrepareResponse{Response: result}, statusOf("prepare", err)
}

// Tool runs a tool call.
func (c *lineClient) Tool(ctx context.Context, req *tenonv1.ToolRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[tenonv1.ToolResponse], error) {
	return stream(ctx, c, func(ctx context.Context, send func(*tenonv1.ToolResponse, int) error) error {
		result, err := c.do(ctx, "tool", lineCall{req.Tool, req.Call, req.Token, timeLeft(ctx)}, func(m *jsonline.Message) error {
			var progress struct {
				Title    string          `json:"title"`
				Metadata json.RawMessage `json:"metadata"`
			}
			if m.Method != "progress" || json.Unmarshal(m.Params, &progress) != nil {
				return nil
			}
			return send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{
				Progress: &tenonv1.Progress{Title: progress.Title, Metadata: progress.Metadata},
			}}, len(m.Params))
		})
		if failure := failureOf(err); failure != nil {
			return send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure}}, 0)
		}
		if err != nil {
			return statusOf("tool", err)
		}
		return send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: result}}, len(result))
	}), nil
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
	params := struct {
		Connection lineConnection  `json:"connection"`
		Request    json.RawMessage `json:"request"`
		Token      string          `json:"token"`
	}{connectionOf(req.Connection), req.Request, req.Token}
	return stream(ctx, c, func(ctx context.Context, send func(*tenonv1.StreamResponse, int) error) error {
		_, err := c.do(ctx, "stream", params, func(m *jsonline.Message) error {
			var part struct {
				Event json.RawMessage `json:"event"`
			}
			if m.Method != "stream_event" || json.Unmarshal(m.Params, &part) != nil {
				return nil
			}
			return send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: part.Event}}, len(m.Params))
		})
		if problem := providerErrorOf(err); problem != nil {
			return send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: problem}}, 0)
		}
		return statusOf("stream", err)
	}), nil
}

// ListModels asks for the models of a provider.
func (c *lineClient) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest, _ ...grpc.CallOption) (*tenonv1.ListModelsResponse, error) {
	params := map[string]any{"connection": connectionOf(req.Connection)}
	result, err := c.call(ctx, "list_models", params)
	if problem := providerErrorOf(err); problem != nil {
		return &tenonv1.ListModelsResponse{Error: problem}, nil
	}
	return &tenonv1.ListModelsResponse{Models: result}, statusOf("list_models", err)
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
	return &tenonv1.AuthResponse{Answer: result}, statusOf("auth", err)
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
