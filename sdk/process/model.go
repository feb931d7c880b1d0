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

func connectionOf(c *tenonv1.Connection) guest.Connection {
	return guest.Connection{Protocol: c.GetProtocol(), Provider: c.GetProvider(), Key: c.GetKey()}
}

// Auth calls a sign-in method.
func (s *server) Auth(ctx context.Context, req *tenonv1.AuthRequest) (*tenonv1.AuthResponse, error) {
	var request guest.AuthRequest
	if err := json.Unmarshal(req.Request, &request); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "sign-in: %v", err)
	}
	ctx = guest.WithToken(ctx, req.Token)
	caller := func(ctx context.Context, op string, body []byte) (guest.Status, []byte, error) {
		return s.link.call(ctx, req.Token, op, body)
	}
	answer, err := guarded(s, func() (*guest.AuthAnswer, error) { return s.guest.Auth(ctx, &request, caller) })
	if err != nil {
		return &tenonv1.AuthResponse{Failure: failure(err)}, nil
	}
	body, err := json.Marshal(answer)
	return &tenonv1.AuthResponse{Answer: body}, err
}

// Stream sends a request to a model.
func (s *server) Stream(req *tenonv1.StreamRequest, stream grpc.ServerStreamingServer[tenonv1.StreamResponse]) error {
	ctx := guest.WithToken(stream.Context(), req.Token)
	_, err := guarded(s, func() (struct{}, error) {
		return struct{}{}, s.clients.Stream(ctx, &guest.StreamRequest{Connection: connectionOf(req.Connection), Request: req.Request}, func(e sdk.StreamEvent) error {
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

// ListModels lists the models of a provider.
func (s *server) ListModels(ctx context.Context, req *tenonv1.ListModelsRequest) (*tenonv1.ListModelsResponse, error) {
	connection := connectionOf(req.Connection)
	models, err := guarded(s, func() ([]sdk.Model, error) { return s.clients.Models(ctx, &connection) })
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, status.Error(codes.Unimplemented, "the protocol has no list of models")
	}
	if err != nil {
		return &tenonv1.ListModelsResponse{Error: providerError(err)}, nil
	}
	body, err := json.Marshal(models)
	return &tenonv1.ListModelsResponse{Models: body}, err
}

// providerError returns a *sdk.ProviderError for the wire; of other errors, only the text.
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
