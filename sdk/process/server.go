package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

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
	guest *guest.Guest
	link  *link

	mu   sync.Mutex
	grpc *grpc.Server // nil until listen
}

func newServer(p sdk.Plugin) *server {
	return &server{guest: guest.New(p), link: newLink()}
}

// listen makes the gRPC server.
func (s *server) listen(opts []grpc.ServerOption) *grpc.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grpc = grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage))...)
	return s.grpc
}

// disconnect ends the connection, and with it Serve.
func (s *server) disconnect() {
	s.mu.Lock()
	listening := s.grpc
	s.mu.Unlock()
	if listening != nil {
		listening.Stop()
	}
}

// answer answers a call and returns the JSON of the answer.
func (s *server) answer(ctx context.Context, token string, r *guest.Request, side *guest.Side) ([]byte, error) {
	ctx = guest.WithToken(ctx, token)
	side.Log = s.link.logger()
	if side.Call == nil {
		side.Call = func(ctx context.Context, op string, body []byte) (guest.Status, []byte, error) {
			return s.link.call(ctx, token, op, body)
		}
	}
	answer, err := guarded(s, func() (any, error) { return s.guest.Answer(ctx, r, side) })
	if err != nil || answer == nil {
		return nil, err
	}
	body, err := json.Marshal(answer)
	if len(body) > MaxMessage-1<<10 {
		return nil, tooLarge("answer", len(body))
	}
	return body, err
}

// Describe returns the plugin's contributions.
func (s *server) Describe(ctx context.Context, _ *tenonv1.DescribeRequest) (*tenonv1.DescribeResponse, error) {
	body, err := s.answer(ctx, "", &guest.Request{Method: "describe"}, &guest.Side{})
	return &tenonv1.DescribeResponse{Description: body}, err
}

// Host serves the stream to the host, which ends with the host.
func (s *server) Host(stream grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest]) error {
	err := s.link.serve(stream)
	s.guest.CloseAlone(s.link.logger)
	go s.disconnect() // it waits for this handler
	return err
}

// Start starts the plugin.
func (s *server) Start(ctx context.Context, req *tenonv1.StartRequest) (*tenonv1.StartResponse, error) {
	s.link.awaitOpen(ctx)
	host := func(start *guest.StartRequest) sdk.Host { return newHost(start, s.link) }
	_, err := s.answer(ctx, "", &guest.Request{Method: "start", Body: req.Request}, &guest.Side{Host: host})
	return &tenonv1.StartResponse{}, err
}

// Prepare returns the permissions that a tool call requires.
func (s *server) Prepare(ctx context.Context, req *tenonv1.PrepareRequest) (*tenonv1.PrepareResponse, error) {
	body, err := s.answer(ctx, req.Token, &guest.Request{Method: "prepare", Tool: int(req.Tool), Body: req.Call}, &guest.Side{})
	return &tenonv1.PrepareResponse{Response: body, Failure: failure(err)}, nil
}

// Tool runs a tool call.
func (s *server) Tool(req *tenonv1.ToolRequest, stream grpc.ServerStreamingServer[tenonv1.ToolResponse]) error {
	out := &toolStream{stream: stream}
	body, err := s.answer(stream.Context(), req.Token, &guest.Request{Method: "tool", Tool: int(req.Tool), Body: req.Call}, &guest.Side{Call: out.caller(s.link, req.Token)})
	if err != nil {
		return out.end(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure(err)}})
	}
	return out.end(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: body}})
}

// Auth calls a sign-in method.
func (s *server) Auth(ctx context.Context, req *tenonv1.AuthRequest) (*tenonv1.AuthResponse, error) {
	body, err := s.answer(ctx, req.Token, &guest.Request{Method: "auth", Body: req.Request}, &guest.Side{})
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
	_, err := s.answer(stream.Context(), req.Token, &guest.Request{Method: "stream", Body: req.Request, Connection: connectionOf(req.Connection)}, &guest.Side{Event: event})
	if err == nil {
		return nil
	}
	return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: providerError(err)}})
}

// ListModels lists the models of a provider.
func (s *server) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest) (*tenonv1.ListModelsResponse, error) {
	body, err := s.answer(ctx, "", &guest.Request{Method: "list_models", Connection: connectionOf(req.Connection)}, &guest.Side{})
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
	_, err := s.answer(ctx, "", &guest.Request{Method: "stop"}, &guest.Side{})
	return &tenonv1.StopResponse{}, err
}

// guarded runs code of the plugin.
func guarded[T any](s *server, run func() (T, error)) (T, error) {
	return guest.Guard(s.link.logger, run)
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

func tooLarge(what string, size int) error {
	return fmt.Errorf("the %s has %d bytes, at most %d MiB are passed on", what, size, MaxMessage>>20)
}
