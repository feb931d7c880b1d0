package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// protocol returns the wire protocol of that name, spoken by the plugin.
func (s *supervisor) protocol(name string) sdk.Protocol {
	return sdk.Protocol{Name: name, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
		provider, err := json.Marshal(info)
		if err != nil {
			return nil, err
		}
		return &modelClient{s, info.ID, &tenonv1.Connection{Protocol: name, Provider: provider, Key: info.Key}}, nil
	}}
}

// modelClient asks the models of one provider through the plugin.
type modelClient struct {
	super      *supervisor
	provider   string
	connection *tenonv1.Connection
}

var _ sdk.ModelLister = (*modelClient)(nil)

// errSilent cancels a request whose answer stalls.
var errSilent = fmt.Errorf("the model said nothing for %s", sdk.DefaultIdleTimeout)

// Stream asks the model. Every error that is not the sink's or that of ctx is a *sdk.ProviderError.
func (c *modelClient) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	in, err := c.super.instance(ctx)
	if err != nil {
		return c.broken(ctx, false, err)
	}
	ctx, token, done := in.calls.begin(ctx, caller{session: req.SessionID})
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := in.api.Stream(ctx, &tenonv1.StreamRequest{Connection: c.connection, Request: body, Token: token})
	if err != nil {
		return c.broken(ctx, false, in.explain(err))
	}
	idle := time.AfterFunc(sdk.DefaultIdleTimeout, func() { cancel(errSilent) })
	defer idle.Stop()
	return c.receive(ctx, in, stream, func(e sdk.StreamEvent) error {
		idle.Reset(sdk.DefaultIdleTimeout)
		return sink(e)
	})
}

// receive passes the events on until the answer is complete.
func (c *modelClient) receive(ctx context.Context, in *instance, stream grpc.ServerStreamingClient[tenonv1.StreamResponse], sink func(sdk.StreamEvent) error) error {
	begun, finished := false, false
	for {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && finished:
			return nil
		case errors.Is(err, io.EOF):
			return c.broken(ctx, begun, errors.New("the plugin ended the answer without a finish event"))
		case err != nil:
			return c.broken(ctx, begun, in.explain(err))
		case response.GetError() != nil:
			return c.failed(response.GetError())
		}
		var event sdk.StreamEvent
		if err := json.Unmarshal(response.GetStream(), &event); err != nil {
			return c.broken(ctx, begun, badAnswer("event of a model's answer", response.GetStream(), err))
		}
		if finished {
			return c.broken(ctx, begun, fmt.Errorf("%w: a %s event after the finish event", sdk.ErrWire, event.Type))
		}
		begun, finished = true, event.Type == sdk.StreamFinish
		if err := sink(event); err != nil {
			return err
		}
	}
}

// broken makes the error of a request that failed on the way, and not at the model's server.
func (c *modelClient) broken(ctx context.Context, begun bool, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return cause
	}
	return &sdk.ProviderError{ProviderID: c.provider, Cut: begun, Err: err}
}

// ListModels asks the provider for its models. The error wraps errors.ErrUnsupported when the plugin cannot ask.
func (c *modelClient) ListModels(ctx context.Context) ([]sdk.Model, error) {
	in, err := c.super.instance(ctx)
	if err != nil {
		return nil, c.broken(ctx, false, err)
	}
	response, err := in.api.ListModels(ctx, &tenonv1.ListModelsRequest{Connection: c.connection})
	if err != nil {
		return nil, c.broken(ctx, false, in.explain(err))
	}
	if response.Error != nil {
		return nil, c.failed(response.Error)
	}
	var models []sdk.Model
	if err := json.Unmarshal(response.Models, &models); err != nil {
		return nil, c.broken(ctx, false, badAnswer("list of models", response.Models, err))
	}
	return models, nil
}

// failed makes the error that the plugin sent.
func (c *modelClient) failed(e *tenonv1.ProviderError) error {
	out := &sdk.ProviderError{
		ProviderID: orDefault(e.GetProvider(), c.provider), StatusCode: int(e.GetStatusCode()), Headers: e.GetHeaders(), Body: e.GetBody(),
		Code: e.GetCode(), Message: e.GetMessage(), Cut: e.GetCut(),
	}
	if e.GetCause() != "" {
		out.Err = errors.New(e.GetCause())
	}
	return out
}
