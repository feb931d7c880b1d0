package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// server is the plugin's side of the contract.
type server struct {
	tenonv1.UnimplementedPluginServer
	plugin.NetRPCUnsupportedPlugin
	guest *guest.Guest
	link  *link
	grpc  *grpc.Server // set by listen, before the first call
}

// listen makes the gRPC server. The server ends with the host, and Serve with the server.
func (s *server) listen(opts []grpc.ServerOption) *grpc.Server {
	s.grpc = grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage))...)
	go func() {
		// The host holds the other end of the standard input and never writes to it.
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.grpc.Stop()
	}()
	return s.grpc
}

// GRPCServer registers the plugin with go-plugin.
func (s *server) GRPCServer(_ *plugin.GRPCBroker, registrar *grpc.Server) error {
	tenonv1.RegisterPluginServer(registrar, s)
	return nil
}

// GRPCClient is not used: only the host has clients.
func (*server) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

// answer answers a call and returns the JSON of the answer. side holds what is sent on the stream of the call, if it has one.
func (s *server) answer(ctx context.Context, r *guest.Request, side guest.Side) (json.RawMessage, error) {
	side.Log, side.Call, side.Subscribe = s.link.log, s.link.call, s.link.subscribe
	return s.guest.AnswerJSON(ctx, r, &side)
}

// Describe returns the plugin's contributions.
func (s *server) Describe(ctx context.Context, _ *tenonv1.DescribeRequest) (*tenonv1.DescribeResponse, error) {
	body, err := s.answer(ctx, &guest.Request{Method: "describe"}, guest.Side{})
	return &tenonv1.DescribeResponse{Description: body}, err
}

// Host serves the stream to the host, which ends with the host.
func (s *server) Host(stream grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest]) error {
	err := s.link.serve(stream)
	s.guest.CloseAlone(s.link.log)
	go s.grpc.Stop() // it waits for this handler
	return err
}

// Start starts the plugin.
func (s *server) Start(ctx context.Context, req *tenonv1.StartRequest) (*tenonv1.StartResponse, error) {
	s.link.awaitOpen(ctx)
	_, err := s.answer(ctx, &guest.Request{Method: "start", Body: req.Request}, guest.Side{})
	return &tenonv1.StartResponse{}, err
}

// Prepare returns the permissions that a tool call requires.
func (s *server) Prepare(ctx context.Context, req *tenonv1.PrepareRequest) (*tenonv1.PrepareResponse, error) {
	body, err := s.answer(ctx, &guest.Request{Method: "prepare", Token: req.Token, Tool: int(req.Tool), Body: req.Call}, guest.Side{})
	return &tenonv1.PrepareResponse{Response: body, Failure: failure(err)}, nil
}

// Tool runs a tool call. Progress is sent on the same stream, before the result. After the result none is sent, even if a goroutine of the tool
// still runs.
func (s *server) Tool(req *tenonv1.ToolRequest, stream grpc.ServerStreamingServer[tenonv1.ToolResponse]) error {
	var sending sync.Mutex
	over := false
	progress := func(title string, metadata sdk.Object) error {
		shown := &tenonv1.Progress{Title: text(title)}
		if len(metadata) > 0 {
			var err error
			if shown.Metadata, err = json.Marshal(metadata); err != nil {
				return err
			}
		}
		sending.Lock()
		defer sending.Unlock()
		if over {
			return errors.New("the call is over")
		}
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{Progress: shown}})
	}
	request := &guest.Request{Method: "tool", Token: req.Token, Tool: int(req.Tool), Body: req.Call}
	body, err := s.answer(stream.Context(), request, guest.Side{Progress: progress})
	sending.Lock()
	defer sending.Unlock()
	over = true
	if err != nil {
		return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure(err)}})
	}
	return stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: body}})
}

// Auth calls a sign-in method.
func (s *server) Auth(ctx context.Context, req *tenonv1.AuthRequest) (*tenonv1.AuthResponse, error) {
	body, err := s.answer(ctx, &guest.Request{Method: "auth", Token: req.Token, Body: req.Request}, guest.Side{})
	return &tenonv1.AuthResponse{Answer: body, Failure: failure(err)}, nil
}

// Stream sends a request to a model.
func (s *server) Stream(req *tenonv1.StreamRequest, stream grpc.ServerStreamingServer[tenonv1.StreamResponse]) error {
	event := func(e sdk.StreamEvent) error {
		body, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: body}})
	}
	request := &guest.Request{Method: "stream", Token: req.Token, Body: req.Request, Connection: connectionOf(req.Connection)}
	if _, err := s.answer(stream.Context(), request, guest.Side{Event: event}); err != nil {
		return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: providerError(err)}})
	}
	return nil
}

// ListModels lists the models of a provider.
func (s *server) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest) (*tenonv1.ListModelsResponse, error) {
	body, err := s.answer(ctx, &guest.Request{Method: "list_models", Connection: connectionOf(req.Connection)}, guest.Side{})
	switch {
	case errors.Is(err, guest.ErrNoMethod):
		return nil, status.Error(codes.Unimplemented, err.Error())
	case err != nil:
		return &tenonv1.ListModelsResponse{Error: providerError(err)}, nil
	}
	return &tenonv1.ListModelsResponse{Models: body}, nil
}

// Stop closes the plugin. The host ends the process next.
func (s *server) Stop(ctx context.Context, _ *tenonv1.StopRequest) (*tenonv1.StopResponse, error) {
	_, err := s.answer(ctx, &guest.Request{Method: "stop"}, guest.Side{})
	return &tenonv1.StopResponse{}, err
}

// failure returns an error for the wire; nil without one.
func failure(err error) *tenonv1.Failure {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*sdk.Refusal](err); ok {
		return &tenonv1.Failure{Message: text(refusal.Reason), Refused: true, Halt: refusal.Halt}
	}
	return &tenonv1.Failure{Message: text(err.Error())}
}

// text returns s without invalid UTF-8, which protobuf refuses.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func connectionOf(c *tenonv1.Connection) guest.Connection {
	return guest.Connection{Protocol: c.GetProtocol(), Provider: c.GetProvider(), Key: c.GetKey()}
}

// providerError returns a *sdk.ProviderError for the wire. Of other errors it keeps only the text.
func providerError(err error) *tenonv1.ProviderError {
	e := guest.NewProviderError(err)
	out := &tenonv1.ProviderError{
		Provider: text(e.Provider), StatusCode: int32(e.StatusCode), Headers: map[string]string{}, Body: text(e.Body),
		Code: text(e.Code), Message: text(e.Message), Cut: e.Cut, Cause: text(e.Cause),
	}
	for name, value := range e.Headers {
		out.Headers[text(name)] = text(value)
	}
	return out
}
