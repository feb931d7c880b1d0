package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// task is one call of a hook as its handler receives it. It belongs to the handler: the engine fills it before the call and shares only
// the input of a transform.
type task struct {
	guarded guarded[sdk.Answer]
	hook    *bound
	local   sdk.HookCall
	remote  *remoteTask // instead of local
}

// remoteTask is a call of a hook outside of the process.
type remoteTask struct {
	sdk.RemoteCall
	dropped []string // changes it answered with that are outside of its fields
}

// newTask prepares a call: a copy of the value for a handler of this process, JSON for a remote one.
// v is nil where the kind has none. The encoded input is kept for the next remote hook.
func (h *bound) newTask(in, v any, inputJSON *[]byte) (*task, error) {
	t := &task{hook: h}
	if h.Handler != nil {
		t.local = sdk.HookCall{Point: h.Point, Input: in}
		if v != nil {
			t.local.Value = value.Clone(v)
			return t, nil
		}
		// Gates judge the bytes that will run, and an event is shared: both get a copy. The input of
		// a transform is shared by all that is called at the point; copying it would cost more than all else.
		t.local.Input = value.Clone(in)
		return t, nil
	}
	if *inputJSON == nil {
		raw, err := value.Select(in, []string{""})
		if err != nil {
			return nil, fmt.Errorf("hook point %s: encode the input: %w", h.Point, err)
		}
		*inputJSON = raw
	}
	t.remote = &remoteTask{RemoteCall: sdk.RemoteCall{Point: h.Point, Hook: h.Name, Input: *inputJSON}}
	if v != nil {
		raw, err := value.Select(v, h.Reads)
		if err != nil {
			return nil, fmt.Errorf("hook point %s: encode the value: %w", h.Point, err)
		}
		t.remote.Value = raw
	}
	return t, nil
}

// call runs the handler, which is abandoned at its deadline. The error is that of the handler or about its answer.
func (h *bound) call(ctx context.Context, t *task, e *Engine, l *loan) (answer sdk.Answer, took time.Duration, err error) {
	start := e.now()
	t.guarded = guarded[sdk.Answer]{callContext: callContext{Context: ctx, deadline: start.Add(h.Timeout)}, log: e.log, f: t}
	answer, err = t.guarded.wait(l)
	switch took = time.Since(start); {
	case timedOut(err, took, h.Timeout):
		err = h.timeoutError(err)
	case err == nil:
		err = h.judge(&answer)
	}
	return answer, took, err
}

// now returns the time with one reading of a clock. time.Now reads two, which costs a call of a hook a tenth of a microsecond more.
func (e *Engine) now() time.Time { return e.began.Add(time.Since(e.began)) }

// call calls the handler.
func (t *task) call(ctx context.Context) (sdk.Answer, error) {
	if t.hook.Handler != nil {
		return t.hook.Handler.Handle(ctx, &t.local)
	}
	answer, err := t.hook.Remote.HandleRemote(ctx, &t.remote.RemoteCall)
	if err == nil {
		err = t.hook.restrict(&answer, t.remote)
	}
	return answer, err
}

// restrict refuses an answer that is too large, whatever carrier it came over, and leaves of its changes those of declared fields.
func (h *bound) restrict(answer *sdk.Answer, t *remoteTask) error {
	if err := value.CheckAnswer(answer.Changes, answer.Reason, answer.Message); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if h.info.Kind == hookpoint.KindTransform && answer.Verdict == sdk.VerdictAbstain {
		answer.Changes = value.Appended(answer.Changes, h.Writes, func(list string) int { return value.LengthJSON(t.Value, list) })
		answer.Changes, t.dropped = value.Restrict(answer.Changes, h.Writes)
	}
	return nil
}

// judge returns an error for an answer that has no meaning at the point.
func (h *bound) judge(answer *sdk.Answer) error {
	if !h.info.Allows(answer.Verdict) {
		return fmt.Errorf("%w: verdict %q has no meaning at this point", ErrAnswer, answer.Verdict)
	}
	if answer.Verdict == sdk.VerdictContinue && answer.Message == "" {
		return fmt.Errorf("%w: verdict %q without a message to continue with", ErrAnswer, answer.Verdict)
	}
	if len(answer.Changes) > 0 && (h.Handler != nil || h.info.Kind != hookpoint.KindTransform) {
		return fmt.Errorf("%w: changes where none are expected", ErrAnswer)
	}
	return nil
}

// timeoutError says that the deadline passed; err is what the handler returned, if it did. A hook that was not ready yet says so.
func (h *bound) timeoutError(err error) error {
	if !errors.Is(err, ErrNotReady) {
		err = nil
		if r, ok := h.Remote.(RemoteReadier); ok {
			err = r.Ready()
		}
	}
	if err != nil {
		return fmt.Errorf("%w after %s: %w", ErrTimeout, h.Timeout, err)
	}
	return fmt.Errorf("%w after %s", ErrTimeout, h.Timeout)
}

// blame counts a failure against the plugin, unless it was not ready yet, and tells the user what it led to. A mute failure is only
// counted.
func (e *Engine) blame(h *bound, err error, mute bool) {
	reason := ""
	if !errors.Is(err, ErrNotReady) {
		reason = h.failed(err)
	}
	e.log.Debug("hook failed", "plugin", h.member.name, "hook", h.label(), "err", err)
	if !mute {
		e.notice(sdk.PluginNotice{Plugin: h.member.name, Hook: h.label(), Message: h.consequence(err)})
	}
	if reason == "" {
		return
	}
	e.notice(sdk.PluginNotice{
		Plugin: h.member.name, Hook: h.label(), Quarantined: true,
		Message: fmt.Sprintf("quarantined after %s; run tenon plugin enable %s to have it called again", reason, h.member.name),
	})
	if e.quarantine != nil {
		e.quarantine(h.member.name, reason)
	}
}

func (h *bound) consequence(err error) string {
	switch {
	case h.OnError == sdk.OnErrorStop:
		return "stops the turn: " + oneLine(err)
	case h.OnError == sdk.OnErrorDeny:
		return "denies: " + oneLine(err)
	}
	return "skipped: " + oneLine(err)
}

// maxSaid is the maximum length of an error in a notice, in characters.
const maxSaid = 500

// oneLine returns the text of an error as one line. A plugin wrote part of it, which must not look like another line or control a
// terminal.
func oneLine(err error) string { return visible.Clean(err.Error(), maxSaid) }
