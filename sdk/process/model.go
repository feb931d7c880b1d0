package process

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// client returns the client of a connection.
func (s *server) client(c *tenonv1.Connection) (sdk.ModelClient, error) {
	return s.clients.Client(c.GetProtocol(), c.GetProvider(), c.GetKey())
}

// Stream asks a model.
func (s *server) Stream(req *tenonv1.StreamRequest, stream grpc.ServerStreamingServer[tenonv1.StreamResponse]) error {
	var request sdk.ModelRequest
	if err := json.Unmarshal(req.Request, &request); err != nil {
		return status.Errorf(codes.InvalidArgument, "model request: %v", err)
	}
	ctx := guest.WithToken(stream.Context(), req.Token)
	_, err := guarded(s, func() (struct{}, error) {
		client, err := s.client(req.Connection)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, client.Stream(ctx, &request, func(e sdk.StreamEvent) error {
			body, err := json.Marshal(e)
			if err != nil {
				return err
			}
			return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Stream{Stream: body}})
		})
	})
	if err == nil {
		return nil
	}
	return stream.Send(&tenonv1.StreamResponse{Event: &tenonv1.StreamResponse_Error{Error: providerError(err)}})
}

// ListModels asks a provider for its models.
func (s *server) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest) (*tenonv1.ListModelsResponse, error) {
	models, err := guarded(s, func() ([]sdk.Model, error) {
		client, err := s.client(req.Connection)
		if err != nil {
			return nil, err
		}
		lister, ok := client.(sdk.ModelLister)
		if !ok {
			return nil, status.Error(codes.Unimplemented, "the protocol has no list of models")
		}
		return lister.ListModels(ctx)
	})
	if status.Code(err) == codes.Unimplemented {
		return nil, err
	}
	if err != nil {
		return &tenonv1.ListModelsResponse{Error: providerError(err)}, nil
	}
	body, err := json.Marshal(models)
	return &tenonv1.ListModelsResponse{Models: body}, err
}

// providerError carries all of a *sdk.ProviderError, and the text of any other error.
func providerError(err error) *tenonv1.ProviderError {
	var e *sdk.ProviderError
	if !errors.As(err, &e) {
		return &tenonv1.ProviderError{Cause: text(err.Error())}
	}
	out := &tenonv1.ProviderError{
		Provider: text(e.ProviderID), StatusCode: int32(e.StatusCode), Headers: map[string]string{}, Body: text(e.Body),
		Code: text(e.Code), Message: text(e.Message), Cut: e.Cut,
	}
	for name, value := range e.Headers {
		out.Headers[text(name)] = text(value)
	}
	if e.Err != nil {
		out.Cause = text(e.Err.Error())
	}
	return out
}
