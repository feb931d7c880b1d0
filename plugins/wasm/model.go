package wasm

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Auth sends a request to the sign-in methods of the guest.
func (p *plugin) Auth(ctx context.Context, request []byte, user sdk.AuthUser) ([]byte, error) {
	return p.do(ctx, &job{op: guest.AuthOp, input: pieces{request}, user: user})
}

// Stream sends a request to a model through the guest, which sends the events by guest.EventOperation.
func (p *plugin) Stream(ctx context.Context, session string, req *guest.StreamRequest, event func([]byte) error) (*guest.ProviderError, error) {
	input, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	output, err := p.do(ctx, &job{op: guest.StreamOp, session: session, input: pieces{input}, event: event})
	if err != nil || len(output) == 0 {
		return nil, err
	}
	var end guest.StreamFailure
	err = remote.Decode("end of a model's answer", output, &end)
	return end.Error, err
}

// ListModels asks the guest for the models of a provider.
func (p *plugin) ListModels(ctx context.Context, c *guest.Connection) ([]sdk.Model, *guest.ProviderError, error) {
	input, err := json.Marshal(guest.StreamRequest{Connection: *c})
	if err != nil {
		return nil, nil, err
	}
	output, err := p.do(ctx, &job{op: guest.ModelsOp, input: pieces{input}})
	if err != nil {
		return nil, nil, err
	}
	var list guest.ModelList
	err = remote.Decode("list of models", output, &list)
	return list.Models, list.Error, err
}

// streamEvent passes on an event of a model's answer. The rate limit of operations does not apply: the model determines the speed, and the
// host bounds the answer.
func (c *call) streamEvent(event []byte) (guest.Status, []byte) {
	if c.event == nil {
		return guest.StatusFailed, []byte("only a model request has events")
	}
	if err := c.event(event); err != nil {
		return guest.StatusFailed, []byte(err.Error())
	}
	return guest.StatusOK, []byte("{}")
}
