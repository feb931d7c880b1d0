package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Protocols returns the wire protocols of the description.
func (b *Base) Protocols() []sdk.Protocol {
	d := &b.Description
	var out []sdk.Protocol
	for _, name := range d.Protocols {
		out = append(out, sdk.Protocol{Name: name, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
			if info.Authorize != nil && info.SignedInBy != b.owner() {
				return nil, fmt.Errorf("provider %s: your sign-in is not passed to plugin %s, which did not create it; use a key", info.ID, d.Name)
			}
			provider, err := json.Marshal(info)
			if err != nil {
				return nil, err
			}
			return &modelClient{b.runner, info, guest.Connection{Protocol: name, Provider: provider, Key: info.Key}}, nil
		}})
	}
	return out
}

// modelClient asks the models of one provider through a plugin.
type modelClient struct {
	runner     Runner
	provider   sdk.ProviderInfo
	connection guest.Connection
}

var _ sdk.ModelLister = (*modelClient)(nil)

// errSilent cancels a request whose answer stalls.
var errSilent = fmt.Errorf("the model sent nothing for %s", sdk.DefaultIdleTimeout)

// Stream asks the model. All errors except those of the sink and of ctx are *sdk.ProviderError. If the server refuses the sign-in, the request
// is repeated once with new credentials.
func (c *modelClient) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	if c.provider.Authorize == nil {
		return c.stream(ctx, req, sink)
	}
	var signed map[string]string
	for {
		refused := signed
		var err error
		if signed, err = c.provider.Authorize(ctx, refused); err != nil {
			return &sdk.ProviderError{ProviderID: c.provider.ID, StatusCode: http.StatusUnauthorized, Err: err}
		}
		own := *req
		own.Headers = map[string]string{}
		maps.Copy(own.Headers, req.Headers)
		maps.Copy(own.Headers, signed)
		err = c.stream(ctx, &own, sink)
		var failed *sdk.ProviderError
		if refused != nil || signed == nil || !errors.As(err, &failed) || failed.StatusCode != http.StatusUnauthorized || failed.Cut {
			return err
		}
	}
}

func (c *modelClient) stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(sdk.DefaultIdleTimeout, func() { cancel(errSilent) })
	defer idle.Stop()
	a := &modelAnswer{idle: idle, sink: sink}
	_, err = c.runner.Call(ctx, &Call{
		Request: guest.Request{Method: "stream", Body: body, Connection: c.connection}, By: ability.Caller{SessionID: req.SessionID}, Event: a.take,
	})
	switch {
	case a.sinkErr != nil:
		return a.sinkErr
	case a.err != nil:
		return c.broken(ctx, a.begun, a.err)
	case err != nil:
		return c.broken(ctx, a.begun, err)
	case !a.finished:
		return c.broken(ctx, a.begun, errors.New("the plugin ended the answer without a finish event"))
	}
	return nil
}

// modelAnswer checks the events of one answer.
type modelAnswer struct {
	idle            *time.Timer
	sink            func(sdk.StreamEvent) error
	begun, finished bool
	sinkErr, err    error // the first error of the sink, or of the plugin's events
}

// take passes an event on.
func (a *modelAnswer) take(data []byte) error {
	var event sdk.StreamEvent
	switch err := Decode("event of a model's answer", data, &event); {
	case a.sinkErr != nil || a.err != nil: // the plugin did not stop
	case err != nil:
		a.err = err
	case a.finished:
		a.err = fmt.Errorf("%w: a %s event after the finish event", sdk.ErrWire, event.Type)
	default:
		a.idle.Reset(sdk.DefaultIdleTimeout)
		a.begun, a.finished = true, event.Type == sdk.StreamFinish
		a.sinkErr = a.sink(event)
	}
	return errors.Join(a.sinkErr, a.err)
}

// broken returns the error of a failed request: the error that the plugin reported, or the reason why the answer is incomplete.
func (c *modelClient) broken(ctx context.Context, begun bool, err error) error {
	if reported, ok := errors.AsType[*sdk.ProviderError](err); ok {
		reported.ProviderID = cmp.Or(reported.ProviderID, c.provider.ID)
		return reported
	}
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return cause
	}
	return &sdk.ProviderError{ProviderID: c.provider.ID, Cut: begun, Err: err}
}

// ListModels asks the provider for its models. The error wraps errors.ErrUnsupported if the plugin cannot list them.
func (c *modelClient) ListModels(ctx context.Context) ([]sdk.Model, error) {
	list, err := c.runner.Call(ctx, &Call{Request: guest.Request{Method: "list_models", Connection: c.connection}})
	var models []sdk.Model
	if err == nil {
		err = Decode("list of models", list, &models)
	}
	if err != nil {
		return nil, c.broken(ctx, false, err)
	}
	return models, nil
}
