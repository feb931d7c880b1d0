package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// Call calls a method of the process.
func (s *supervisor) Call(ctx context.Context, c *remote.Call) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: c.By})
	defer done()
	result, err := in.api.call(ctx, &request{Request: c.Request, token: token, timeout: timeLeft(ctx)}, func(n *note) error {
		if c.Event != nil {
			return c.Event(n.Event)
		}
		if body, err := json.Marshal(n); err == nil && s.Broker != nil && c.By.Tool != nil {
			s.Broker.Do(ctx, c.By, "progress", body) // it limits the rate
		}
		return nil
	})
	if refusal, ok := errors.AsType[*sdk.Refusal](err); ok {
		refusal.By = "plugin " + s.Description.Name
	}
	if c.Method == "tool" && errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the tool %s ended without a result", sdk.ErrWire, s.Description.Tools[c.Tool].ID)
	}
	return result, in.explain(err)
}
