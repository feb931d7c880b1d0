package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// grpcAPI calls a process over gRPC.
type grpcAPI struct {
	client   tenonv1.PluginClient
	requests grpc.BidiStreamingClient[tenonv1.HostResponse, tenonv1.HostRequest] // set by host

	*hookStream // set by hooks
}

func (g *grpcAPI) call(ctx context.Context, r *request, notify func(*note) error) (json.RawMessage, error) {
	switch r.Method {
	case "describe":
		response, err := g.client.Describe(ctx, &tenonv1.DescribeRequest{})
		return response.GetDescription(), err
	case "start":
		_, err := g.client.Start(ctx, &tenonv1.StartRequest{Request: r.Body, Grants: r.grants, Host: r.host})
		return nil, err
	case "prepare":
		response, err := g.client.Prepare(ctx, &tenonv1.PrepareRequest{Tool: uint32(r.Tool), Call: r.Body, Token: r.Token})
		return response.GetResponse(), failed(err, response.GetFailure(), nil)
	case "tool":
		return g.tool(ctx, r, notify)
	case "stream":
		return nil, g.stream(ctx, r, notify)
	case "list_models":
		response, err := g.client.ListModels(ctx, &tenonv1.ListModelsRequest{Connection: connection(r)})
		return response.GetModels(), failed(err, nil, response.GetError())
	case "auth":
		response, err := g.client.Auth(ctx, &tenonv1.AuthRequest{Request: r.Body, Token: r.Token})
		return response.GetAnswer(), failed(err, response.GetFailure(), nil)
	case "stop":
		_, err := g.client.Stop(ctx, &tenonv1.StopRequest{})
		return nil, err
	}
	return nil, errors.ErrUnsupported
}

// tool runs a tool call. The error is io.EOF if it ends without a result.
func (g *grpcAPI) tool(ctx context.Context, r *request, notify func(*note) error) (json.RawMessage, error) {
	stream, err := g.client.Tool(ctx, &tenonv1.ToolRequest{Tool: uint32(r.Tool), Call: r.Body, Token: r.Token})
	if err != nil {
		return nil, err
	}
	for {
		response, err := stream.Recv()
		if err := failed(err, response.GetFailure(), nil); err != nil {
			return nil, err
		}
		switch event := response.Event.(type) {
		case *tenonv1.ToolResponse_Result:
			return event.Result, nil
		case *tenonv1.ToolResponse_Progress:
			if err := notify(&note{Title: event.Progress.GetTitle(), Metadata: event.Progress.GetMetadata()}); err != nil {
				return nil, err
			}
		}
	}
}

// stream sends a request to a model.
func (g *grpcAPI) stream(ctx context.Context, r *request, notify func(*note) error) error {
	stream, err := g.client.Stream(ctx, &tenonv1.StreamRequest{Connection: connection(r), Request: r.Body, Token: r.Token})
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := failed(err, nil, response.GetError()); err != nil {
			return err
		}
		if err := notify(&note{Event: response.GetStream()}); err != nil {
			return err
		}
	}
}

func (g *grpcAPI) host(ctx context.Context, in *instance, take func(*tenonv1.HostRequest)) (err error) {
	if g.requests, err = g.client.Host(ctx); err != nil {
		return in.explain(err)
	}
	in.inside.Go(func() {
		for {
			req, err := g.requests.Recv()
			if code := status.Code(err); code == codes.ResourceExhausted || code == codes.Internal {
				in.fail(fmt.Errorf("the stream to the host broke: %w", in.explain(err)))
			}
			if err != nil {
				return // plugins without requests need not implement the stream
			}
			take(req)
		}
	})
	return nil
}

func (g *grpcAPI) respond(r *tenonv1.HostResponse) error { return g.requests.Send(r) }

func connection(r *request) *tenonv1.Connection {
	return &tenonv1.Connection{Protocol: r.Connection.Protocol, Provider: r.Connection.Provider, Key: r.Connection.Key}
}

// failed returns the error of a call, or the failure that the plugin reported.
func failed(err error, f *tenonv1.Failure, e *tenonv1.ProviderError) error {
	switch {
	case err != nil:
		return err
	case f.GetRefused():
		return &sdk.Refusal{Reason: cmp.Or(f.GetMessage(), noMessage), Halt: f.GetHalt()}
	case f != nil:
		return errors.New(cmp.Or(f.GetMessage(), noMessage))
	case e != nil:
		reported := &guest.ProviderError{
			Provider: e.GetProvider(), StatusCode: int(e.GetStatusCode()), Headers: e.GetHeaders(), Body: e.GetBody(),
			Code: e.GetCode(), Message: e.GetMessage(), Cut: e.GetCut(), Cause: e.GetCause(),
		}
		return reported.Err("")
	}
	return nil
}
