package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// lineServer serves tenonv1.Plugin in memory, except for hooks, and passes the calls on to a process that speaks lines. The rest of this
// package therefore has one wire; hookStream sends hooks to conn itself. The names of methods and parameters are those of plugin.proto; a field with bytes of JSON is that JSON.
type lineServer struct {
	tenonv1.UnimplementedPluginServer
	conn     *jsonline.Conn
	listener *bufconn.Listener
	grpc     *grpc.Server
	ended    sync.WaitGroup

	mu     sync.Mutex
	host   grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest] // nil until it is opened
	opened chan struct{}                                                       // closed then
}

// connBytes is the size of the buffer between the client and the server in this process.
const connBytes = 256 << 10

// serveLines starts the server. broken is called if the connection ends first, with its error. The caller closes the server.
func serveLines(conn *jsonline.Conn, broken func(error)) *lineServer {
	s := &lineServer{
		conn: conn, listener: bufconn.Listen(connBytes), opened: make(chan struct{}),
		grpc: grpc.NewServer(grpc.MaxRecvMsgSize(jsonline.MaxLine), grpc.MaxSendMsgSize(jsonline.MaxLine)),
	}
	tenonv1.RegisterPluginServer(s.grpc, s)
	s.ended.Go(func() { _ = s.grpc.Serve(s.listener) })        // ends with close
	s.ended.Go(func() { broken(s.conn.Serve(s.fromProcess)) }) // ends with close, or the process
	return s
}

// close ends the server and the connection, and waits for its goroutines.
func (s *lineServer) close() {
	s.conn.Close()
	s.grpc.Stop()
	s.ended.Wait()
}

// dial connects a client.
func (s *lineServer) dial(ctx context.Context, _ string) (net.Conn, error) {
	return s.listener.DialContext(ctx)
}

// call calls a method of the process. each receives the notifications that belong to the call; it may be nil.
func (s *lineServer) call(ctx context.Context, method string, params any, each func(*jsonline.Message) error) (json.RawMessage, error) {
	body, err := jsontext.Marshal(params)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return s.conn.Call(ctx, method, body, each)
}

// statusOf returns the gRPC status for a failed call.
func statusOf(method string, err error) error {
	var problem *jsonline.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem) && problem.Code == jsonline.CodeMethodNotFound:
		return status.Error(codes.Unimplemented, "method "+method+" not implemented")
	case errors.As(err, &problem):
		return status.Error(codes.Unknown, orDefault(problem.Message, "the plugin failed without a message"))
	case errors.Is(err, jsonline.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.FromContextError(err).Err()
}

// Describe asks for the contributions of the plugin.
func (s *lineServer) Describe(ctx context.Context, _ *tenonv1.DescribeRequest) (*tenonv1.DescribeResponse, error) {
	result, err := s.call(ctx, "describe", struct{}{}, nil)
	return &tenonv1.DescribeResponse{Description: result}, statusOf("describe", err)
}

// Start starts the plugin, which may ask the host from then on. gRPC runs the stream for that, opened before, in another goroutine.
func (s *lineServer) Start(ctx context.Context, req *tenonv1.StartRequest) (*tenonv1.StartResponse, error) {
	select {
	case <-s.opened:
	case <-ctx.Done():
		return nil, statusOf("start", context.Cause(ctx))
	}
	_, err := s.call(ctx, "start", struct {
		Request json.RawMessage `json:"request"`
		Grants  json.RawMessage `json:"grants"`
		Host    string          `json:"host"`
	}{req.Request, req.Grants, req.Host}, nil)
	return &tenonv1.StartResponse{}, statusOf("start", err)
}

// Stop ends the plugin.
func (s *lineServer) Stop(ctx context.Context, _ *tenonv1.StopRequest) (*tenonv1.StopResponse, error) {
	_, err := s.call(ctx, "stop", struct{}{}, nil)
	return &tenonv1.StopResponse{}, statusOf("stop", err)
}

// untilEnd runs receive and returns its error, or that the process is gone; receive then ends with its stream, which ends when the
// caller returns.
func (s *lineServer) untilEnd(receive func() error) error {
	ended := make(chan error, 1)
	s.ended.Go(func() { ended <- receive() }) // ends with the stream
	select {
	case err := <-ended:
		return err
	case <-s.conn.Done():
		return status.Error(codes.Unavailable, jsonline.ErrClosed.Error())
	}
}

// lineHooks sends hooks to a process. deliver gets the answers in a goroutine that reads from the process, and must not block.
type lineHooks struct {
	conn    *jsonline.Conn
	deliver func(*tenonv1.HookResponse)
	queue   chan<- *tenonv1.HookRequest // to the goroutine that calls send
}

// try sends a request if that needs no waiting. Then it waits some milliseconds for the answer, unless another goroutine reads from the process.
func (l *lineHooks) try(req *tenonv1.HookRequest) bool {
	sent, whole := l.conn.TryBegin(req.Id, "hook", hookParams(req), l.take(req.Id))
	if sent && !whole {
		select {
		case l.queue <- &tenonv1.HookRequest{}:
		default: // what waits there is written behind the rest
		}
	}
	if sent {
		l.conn.Await(req.Id)
	}
	return sent
}

// send sends a request, or cancels it. One without an ID is for the rest of a request of try.
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
		return &tenonv1.HookResponse{Id: id, Error: orDefault(m.Error.Message, "the hook failed without a message")}
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
func (s *lineServer) Prepare(ctx context.Context, req *tenonv1.PrepareRequest) (*tenonv1.PrepareResponse, error) {
	result, err := s.call(ctx, "prepare", lineCall{req.Tool, req.Call, req.Token, timeLeft(ctx)}, nil)
	if failure := failureOf(err); failure != nil {
		return &tenonv1.PrepareResponse{Failure: failure}, nil
	}
	return &tenonv1.PrepareResponse{Response: result}, statusOf("prepare", err)
}

// Tool runs a tool call.
func (s *lineServer) Tool(req *tenonv1.ToolRequest, stream grpc.ServerStreamingServer[tenonv1.ToolResponse]) error {
	ctx := stream.Context()
	result, err := s.call(ctx, "tool", lineCall{req.Tool, req.Call, req.Token, timeLeft(ctx)}, func(m *jsonline.Message) error {
		var progress struct {
			Title    string          `json:"title"`
			Metadata json.RawMessage `json:"metadata"`
		}
		if m.Method != "progress" || json.Unmarshal(m.Params, &progress) != nil {
			return nil
		}
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{
			Progress: &tenonv1.Progress{Title: progress.Title, Metadata: progress.Metadata},
		}})
	})
	if failure := failureOf(err); failure != nil {
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure}})
	}
	if err != nil {
		return statusOf("tool", err)
	}
	return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: result}})
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
func (s *lineServer) Stream(req *tenonv1.StreamRequest, stream grpc.ServerStreamingServer[tenonv1.StreamResponse]) error {
	ctx := stream.Context()
	params := struct {
		Connection lineConnection  `json:"connection"`
		Request    json.RawMessage `json:"request"`
		Token      string          `json:"token"`
	}{connectionOf(req.Connection), req.Request, req.Token}
	_, err := s.call(ctx, "stream", params, func(m *jsonline.Message) error {
		var part struct {
			Event json.RawMessage `json:"event"`
		}
		if m.Method != "stream_event" || json.Unmarshal(m.Params, &part) != nil {
			return nil
		}
		return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: part.Event}})
	})
	if problem := providerErrorOf(err); problem != nil {
		return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: problem}})
	}
	return statusOf("stream", err)
}

// ListModels asks for the models of a provider.
func (s *lineServer) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest) (*tenonv1.ListModelsResponse, error) {
	params := map[string]any{"connection": connectionOf(req.Connection)}
	result, err := s.call(ctx, "list_models", params, nil)
	if problem := providerErrorOf(err); problem != nil {
		return &tenonv1.ListModelsResponse{Error: problem}, nil
	}
	return &tenonv1.ListModelsResponse{Models: result}, statusOf("list_models", err)
}

// Auth asks a sign-in method for something.
func (s *lineServer) Auth(ctx context.Context, req *tenonv1.AuthRequest) (*tenonv1.AuthResponse, error) {
	result, err := s.call(ctx, "auth", struct {
		Request json.RawMessage `json:"request"`
		Token   string          `json:"token"`
		Timeout uint32          `json:"timeout_ms"`
	}{req.Request, req.Token, timeLeft(ctx)}, nil)
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

// errNotLines is wrapped by the reason for ending a process that sends something else than messages.
var errNotLines = errors.New("it does not speak the line protocol")

// connectionBroke returns the reason for ending a process whose connection ended before it.
func connectionBroke(err error) error {
	if errors.Is(err, jsonline.ErrBadMessage) || errors.Is(err, jsonline.ErrTooLong) {
		return fmt.Errorf("%w: %w", errNotLines, err)
	}
	return errors.New("it closed the connection")
}

// awaitEnd waits for the end of a process whose connection ended: usually both end together. It returns false if the process lives on.
func awaitEnd(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-time.After(endTime / 2): // before calls stop waiting for the end
		return false
	}
}

var _ tenonv1.PluginServer = (*lineServer)(nil)
