package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// call is one call of a hook, with the data for its handler. It belongs to the handler: the engine fills it before the call and shares only
// the input of a transform.
type call struct {
	hook    *pluginHook
	began   time.Time // or, if it waited for a start of the plugin, when that began
	local   sdk.HookCall
	remote  *sdk.RemoteCall // for a hook outside of the process, instead of local
	dropped []string        // changes that a remote hook answered with outside of its fields
}

// newCall prepares a call: a copy of the value for a handler of this process, JSON for a remote one. v is nil where the kind has none. The
// encoded input is kept in inputJSON for the next remote hook.
func (h *pluginHook) newCall(in, v any, inputJSON *[]byte) (*call, error) {
	c := &call{hook: h}
	if h.Handler != nil {
		c.local = sdk.HookCall{Point: h.Point, Input: in}
		if v != nil {
			c.local.Value = value.Clone(v)
			return c, nil
		}
		// Gates get a copy, because the bytes that they check must be the bytes that run. Observers get one, because events are
		// shared. All hooks of a transform share the input: copying it would cost more than the rest of the call.
		c.local.Input = value.Clone(in)
		return c, nil
	}
	if *inputJSON == nil {
		raw, err := value.Select(in, []string{""})
		if err != nil {
			return nil, fmt.Errorf("hook point %s: encode the input: %w", h.Point, err)
		}
		*inputJSON = raw
	}
	c.remote = &sdk.RemoteCall{Point: h.Point, Hook: h.Name, Input: *inputJSON}
	if v != nil {
		raw, err := value.Select(v, h.Reads)
		if err != nil {
			return nil, fmt.Errorf("hook point %s: encode the value: %w", h.Point, err)
		}
		c.remote.Value = raw
	}
	return c, nil
}

// run runs the handler with the deadline of the hook (deadline.go). The error is from the handler or about its answer.
func (c *call) run(ctx context.Context, e *Engine) (answer sdk.Answer, took time.Duration, err error) {
	h, start := c.hook, time.Now()
	c.began = start
	answer, err = withDeadline(ctx, e.o.Logger, h.Timeout, e.workers.start, c.handle)
	switch took = time.Since(start); {
	case took >= h.Timeout && (err == nil || errors.Is(err, ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded)):
		// The handler did not return, returned too late, or returned because its context ended.
		err = c.timeoutError(err)
	case err == nil && h.Handler != nil && len(answer.Changes) > 0:
		err = fmt.Errorf("%w: changes where none are expected", ErrAnswer) // the engine finds them itself
	case err == nil:
		if problem := h.info.Check(&answer); problem != nil {
			err = fmt.Errorf("%w: %w", ErrAnswer, problem)
		}
	}
	if c.remote != nil && e.o.Logger.Enabled(ctx, LevelTrace) {
		answered, _ := json.Marshal(answer) // which was decoded
		shown := func(data []byte) string { return visible.Cut(string(data), maxTraced, "…") }
		e.o.Logger.Log(ctx, LevelTrace, "hook called", "plugin", h.plugin.Name, "hook", h.label(),
			"input", shown(c.remote.Input), "value", shown(c.remote.Value), "answer", shown(answered), "err", err)
	}
	return answer, took, err
}

// LevelTrace is the level at which the log shows what remote hooks receive and answer: for their authors, because it contains conversations.
const LevelTrace = slog.LevelDebug - 4

// maxTraced is the maximum size of each text in such a message in bytes.
const maxTraced = 4 << 10

// handle calls the handler.
func (c *call) handle(ctx context.Context) (sdk.Answer, error) {
	if c.hook.Handler != nil {
		return c.hook.Handler.Handle(ctx, &c.local)
	}
	answer, err := c.hook.Remote.HandleRemote(ctx, c.remote)
	if err == nil {
		err = c.restrict(&answer)
	}
	return answer, err
}

// restrict refuses answers that are too large, for all carriers, and drops changes of fields that the hook did not declare.
func (c *call) restrict(answer *sdk.Answer) error {
	if err := value.CheckAnswer(answer.Changes, answer.Reason, answer.Message); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if h := c.hook; h.info.Kind == hookpoint.KindTransform && answer.Verdict == sdk.VerdictAbstain {
		answer.Changes = value.Appended(answer.Changes, h.Writes, func(lists []string) map[string]int { return value.LengthsJSON(c.remote.Value, lists) })
		answer.Changes, c.dropped = value.Restrict(answer.Changes, h.Writes)
	}
	return nil
}

// timeoutError returns the error of a call that passed its deadline. err is the error of the handler, if it returned. The result is Blameless
// if the plugin is not to blame.
func (c *call) timeoutError(err error) error {
	if !errors.Is(err, ErrNotCalled) {
		err = nil
		if r, ok := c.hook.Remote.(RemoteReadier); ok {
			var began time.Time
			if began, err = r.Ready(); err != nil && began.Before(c.began) {
				c.began = began
			}
		}
	}
	late := fmt.Errorf("%w after %s", ErrTimeout, c.hook.Timeout)
	if err != nil {
		late = fmt.Errorf("%w: %w", late, err)
	}
	return late
}

// RemoteReadier is implemented by remote handlers that need time before the first call. The deadline of a hook does not wait for them.
type RemoteReadier interface {
	// Ready returns an error while calls cannot be answered yet, and the time at which the plugin's start began. The error wraps ErrNotCalled if
	// that is not the plugin's fault. Ready is called after a call has timed out, from any goroutine, and must return immediately.
	Ready() (began time.Time, err error)
}
