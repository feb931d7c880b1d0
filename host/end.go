package host

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// TurnError is why a turn ended without an answer.
type TurnError struct {
	Named *sdk.NamedError // as in the message
	Err   error           // the cause
}

func (e *TurnError) named() *sdk.NamedError {
	if e == nil {
		return nil
	}
	return e.Named
}

// Error returns the cause's text.
func (e *TurnError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// finish winds the turn up: nothing stays open, changes are durable, callers that wait get the answer.
func (t *turn) finish(ctx context.Context, err error) {
	t.r.mu.Lock()
	t.r.cancel, t.r.turnCtx, t.r.view = nil, nil, nil
	t.r.mu.Unlock()
	defer t.h.plugins.Release(t.g)
	why := live.InterruptedByAbort
	if err != nil {
		t.failure = t.turnError(err)
		if !errors.Is(err, errAborted) {
			why = live.InterruptedByFailure
		}
	} else if err := t.halted.reason(); err != nil {
		t.failure = &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: t.g.Hide(err.Error())}}, Err: err}
	}
	t.closeStep(why)
	if t.g.Config.Compaction.Prune && t.failure == nil {
		compact.Prune(t.c)
	}
	t.k.Settle() // changes from now on are not the session's
	t.c.Journal.Put([]store.Op{store.SetTurn{Open: false}})
	t.c.Journal.Put(nil, t.ending()...)
	if err := t.c.Journal.Flush(ctx); err != nil { // nothing comes through the journal any more, and clients must not wait for ever
		t.failure = t.turnError(err)
		for _, e := range t.ending() {
			t.h.publish(e)
		}
		for t.r.waiting() { // they fail with the turn; those that come after its answer may find room
			t.answering = append(t.answering, t.r.take())
		}
	}
	t.answer()
}

// ending returns the events that end a turn.
func (t *turn) ending() []sdk.Event {
	id := t.r.session
	var out []sdk.Event
	if t.failure != nil {
		out = append(out, sdk.Event{Type: sdk.EventSessionError, Properties: &sdk.SessionErrorInfo{SessionID: id, Error: t.failure.Named}})
	}
	idle := sdk.SessionStatus{Type: sdk.StatusIdle}
	return append(out,
		sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: id, Status: idle}},
		sdk.Event{Type: sdk.EventSessionIdle, Properties: &sdk.SessionRef{SessionID: id}})
}

// closeStep ends the message and the parts that the step left open.
func (t *turn) closeStep(why live.Interruption) {
	if t.msg == nil {
		return
	}
	t.stepOf(t.msg).Close(why, t.failure.named())
	t.last, t.msg = t.msg, nil
}

// stepOf returns the step of a message.
func (t *turn) stepOf(m *sdk.AssistantMessage) *ask.Step {
	return &ask.Step{Setup: t.Setup, Conversation: t.c, User: t.user, Msg: m, Ledger: t.ledger}
}

// answer hands the outcome to those who wait for it.
func (t *turn) answer() {
	var message *sdk.MessageWithParts
	if t.last != nil {
		message = &sdk.MessageWithParts{Info: live.CopyMessage(t.last), Parts: t.c.Parts(t.last.ID)}
	} else if t.user != nil {
		message = &sdk.MessageWithParts{Info: live.CopyMessage(t.user), Parts: t.c.Parts(t.user.ID)}
	}
	var err error
	if t.failure != nil {
		err = t.failure
	}
	for _, q := range t.answering {
		q.reply(message, err)
	}
	t.answering = nil
}

// turnError wraps the cause of a failed turn.
func (t *turn) turnError(err error) *TurnError {
	if te, ok := errors.AsType[*TurnError](err); ok {
		return te
	}
	if errors.Is(err, errAborted) {
		return &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "aborted by the user"}}, Err: err}
	}
	return &TurnError{Named: t.g.WireError(err), Err: err}
}
