package process

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Stream sends a request to a model through the process.
func (s *supervisor) Stream(ctx context.Context, session string, req *guest.StreamRequest, event func([]byte) error) (*guest.ProviderError, error) {
	_, err := s.call(ctx, ability.Caller{SessionID: session}, "stream", func(token string) any {
		return streamParams{connection(req.Connection), req.Request, token}
	}, func(n *note) error { return event(n.Event) })
	if f, ok := errors.AsType[*failure](err); ok {
		return f.model, nil
	}
	return nil, err
}

// ListModels asks the process for the models of a provider.
func (s *supervisor) ListModels(ctx context.Context, c *guest.Connection) ([]sdk.Model, *guest.ProviderError, error) {
	list, err := s.call(ctx, ability.Caller{}, "list_models", func(string) any { return modelsParams{connection(*c)} }, nil)
	if f, ok := errors.AsType[*failure](err); ok {
		return nil, f.model, nil
	}
	var models []sdk.Model
	if err == nil {
		err = remote.Decode("list of models", list, &models)
	}
	return models, nil, err
}
