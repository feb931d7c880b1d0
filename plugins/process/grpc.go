package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// grpcAPI calls a process over gRPC.
type grpcAPI struct{ client tenonv1.PluginClient }

func (g grpcAPI) call(ctx context.Context, _ string, params any, notify func(*note) error) (json.RawMessage, error) {
	switch p := params.(type) {
	case describeParams:
		response, err := g.client.Describe(ctx, &tenonv1.DescribeRequest{})
		return response.GetDescription(), err
	case startParams:
		_, err := g.client.Start(ctx, &tenonv1.StartRequest{Request: p.Request, Grants: p.Grants, Host: p.Host})
		return nil, err
	case prepareParams:
		response, err := g.client.Prepare(ctx, &tenonv1.PrepareRequest{Tool: p.Tool, Call: p.Call, Token: p.Token})
		return response.GetResponse(), failed(err, response.GetFailure(), nil)
	case toolParams:
		return g.tool(ctx, &p, notify)
	case streamParams:
		return g.stream(ctx, &p, notify)
	case modelsParams:
		response, err := g.client.ListModels(ctx, &tenonv1.ListModelsRequest{Connection: p.Connection.message()})
		return response.GetModels(), failed(err, nil, response.GetError())
	case authParams:
		response, err := g.client.Auth(ctx, &tenonv1.AuthRequest{Request: p.Request, Token: p.Token})
		return response.GetAnswer(), failed(err, response.GetFailure(), nil)
	case stopParams:
		_, err := g.client.Stop(ctx, &tenonv1.StopRequest{})
		return nil, err
	}
	return nil, errors.ErrUnsupported
}

// tool runs a tool call. The error is io.EOF if it ends without a result.
func (g grpcAPI) tool(ctx context.Context, p *toolParams, notify func(*note) error) (json.RawMessage, error) {
	stream, err := g.client.Tool(ctx, &tenonv1.ToolRequest{Tool: p.Tool, Call: p.Call, Token: p.Token})
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
func (g grpcAPI) stream(ctx context.Context, p *streamParams, notify func(*note) error) (json.RawMessage, error) {
	stream, err := g.client.Stream(ctx, &tenonv1.StreamRequest{Connection: p.Connection.message(), Request: p.Request, Token: p.Token})
	if err != nil {
		return nil, err
	}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err := failed(err, nil, response.GetError()); err != nil {
			return nil, err
		}
		if err := notify(&note{Event: response.GetStream()}); err != nil {
			return nil, err
		}
	}
}

func (g grpcAPI) hooks(ctx context.Context, in *instance) (hookWire, error) {
	return openHookStream(ctx, in, g.client)
}

func (g grpcAPI) host(ctx context.Context) (grpc.BidiStreamingClient[tenonv1.HostResponse, tenonv1.HostRequest], error) {
	return g.client.Host(ctx)
}

// message returns the connection for gRPC.
func (c *connection) message() *tenonv1.Connection {
	return &tenonv1.Connection{Protocol: c.Protocol, Provider: c.Provider, Key: c.Key}
}

// failed returns the error of a call, or the failure that the plugin reported.
func failed(err error, f *tenonv1.Failure, e *tenonv1.ProviderError) error {
	switch {
	case err != nil:
		return err
	case f != nil:
		return &failure{message: f.GetMessage(), refused: f.GetRefused(), halt: f.GetHalt()}
	case e != nil:
		return &failure{model: &guest.ProviderError{
			Provider: e.GetProvider(), StatusCode: int(e.GetStatusCode()), Headers: e.GetHeaders(), Body: e.GetBody(),
			Code: e.GetCode(), Message: e.GetMessage(), Cut: e.GetCut(), Cause: e.GetCause(),
		}}
	}
	return nil
}
