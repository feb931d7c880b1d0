package process

import (
	"context"
	"errors"
	"io"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// Stream sends a request to a model through the process.
func (s *supervisor) Stream(ctx context.Context, session string, req *guest.StreamRequest, event func([]byte) error) (*guest.ProviderError, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: ability.Caller{SessionID: session}})
	defer done()
	stream, err := in.api.Stream(ctx, &tenonv1.StreamRequest{Connection: wireConnection(&req.Connection), Request: req.Request, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	for {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, in.explain(err)
		case response.GetError() != nil:
			return failureFrom(response.GetError()), nil
		}
		if err := event(response.GetStream()); err != nil {
			return nil, err
		}
	}
}

// ListModels asks the process for the models of a provider.
func (s *supervisor) ListModels(ctx context.Context, c *guest.Connection) ([]sdk.Model, *guest.ProviderError, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, nil, err
	}
	response, err := in.api.ListModels(ctx, &tenonv1.ListModelsRequest{Connection: wireConnection(c)})
	switch {
	case err != nil:
		return nil, nil, in.explain(err)
	case response.Error != nil:
		return nil, failureFrom(response.Error), nil
	}
	var models []sdk.Model
	err = remote.Decode("list of models", response.Models, &models)
	return models, nil, err
}

func wireConnection(c *guest.Connection) *tenonv1.Connection {
	return &tenonv1.Connection{Protocol: c.Protocol, Provider: c.Provider, Key: c.Key}
}

func failureFrom(e *tenonv1.ProviderError) *guest.ProviderError {
	return &guest.ProviderError{
		Provider: e.GetProvider(), StatusCode: int(e.GetStatusCode()), Headers: e.GetHeaders(), Body: e.GetBody(),
		Code: e.GetCode(), Message: e.GetMessage(), Cut: e.GetCut(), Cause: e.GetCause(),
	}
}
