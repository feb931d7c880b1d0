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
	guest   *guest.Guest
	link    *link
	clients *guest.Clients

	mu   sync.Mutex
	grpc *grpc.Server // nil until listen
}

func newServer(p sdk.Plugin) *server {
	return &server{guest: guest.New(p), link: newLink(), clients: guest.NewClients(p)}
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

// Describe returns the plugin's contributions.
func (s *server) Describe(context.Context, *tenonv1.DescribeRequest) (*tenonv1.DescribeResponse, error) {
	return guarded(s, func() (*tenonv1.DescribeResponse, error) {
		description, err := s.guest.Describe()
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(description)
		return &tenonv1.DescribeResponse{Description: body}, err
	})
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
	var start guest.StartRequest
	if err := json.Unmarshal(req.Request, &start); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "start request: %v", err)
	}
	s.link.awaitOpen(ctx)
	return guarded(s, func() (*tenonv1.StartResponse, error) {
		return &tenonv1.StartResponse{}, s.guest.Start(ctx, &start, newHost(&start, s.link))
	})
}

// Prepare returns the permissions that a tool call requires.
func (s *server) Prepare(ctx context.Context, req *tenonv1.PrepareRequest) (*tenonv1.PrepareResponse, error) {
	call, err := toolCall(req.Call)
	if err != nil {
		return nil, err
	}
	ctx = guest.WithToken(ctx, req.Token)
	needs, err := guarded(s, func() (*guest.PrepareResponse, error) { return s.guest.Prepare(ctx, int(req.Tool), call) })
	if err != nil {
		return &tenonv1.PrepareResponse{Failure: failure(err)}, nil
	}
	body, err := json.Marshal(needs)
	return &tenonv1.PrepareResponse{Response: body}, err
}

// Tool runs a tool call.
func (s *server) Tool(req *tenonv1.ToolRequest, stream grpc.ServerStreamingServer[tenonv1.ToolResponse]) error {
	call, err := toolCall(req.Call)
	if err != nil {
		return err
	}
	ctx := guest.WithToken(stream.Context(), req.Token)
	out := &toolStream{stream: stream}
	call.Host = guest.NewToolHost(out.caller(s.link, req.Token), s.link.logger())
	result, err := guarded(s, func() (*sdk.ToolResult, error) { return s.guest.Tool(ctx, int(req.Tool), call) })
	if err != nil {
		return out.end(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure(err)}})
	}
	body, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if len(body) > MaxMessage-1<<10 {
		return out.end(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Failure{Failure: failure(tooLarge("result", len(body)))}})
	}
	return out.end(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Result{Result: body}})
}

func toolCall(body []byte) (*sdk.ToolCall, error) {
	call := new(sdk.ToolCall)
	if err := json.Unmarshal(body, call); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "tool call: %v", err)
	}
	return call, nil
}

// Stop closes the plugin. The host ends the process next.
func (s *server) Stop(ctx context.Context, _ *tenonv1.StopRequest) (*tenonv1.StopResponse, error) {
	return guarded(s, func() (*tenonv1.StopResponse, error) { return &tenonv1.StopResponse{}, s.guest.Close(ctx) })
}

// guarded runs code of the plugin.
func guarded[T any](s *server, run func() (T, error)) (T, error) {
	return guest.Guard(s.link.logger, run)
}

func failure(err error) *tenonv1.Failure {
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
