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

// TurnError is the reason why a turn ended without an answer.
type TurnError struct {
	Named *sdk.NamedError // as stored in the message
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

// finish ends the turn: it closes open messages and parts, waits until all changes are durable, and replies to waiting callers.
func (t *turn) finish(ctx context.Context, err error) {
	t.runner.mu.Lock()
	t.runner.cancel, t.runner.turnCtx, t.runner.view = nil, nil, nil
	t.runner.mu.Unlock()
	defer t.host.plugins.Release(t.gen)
	why := live.InterruptedByAbort
	if err != nil {
		t.failure = t.turnError(err)
		if !errors.Is(err, errAborted) {
			why = live.InterruptedByFailure
		}
	} else if err := t.halted.reason(); err != nil {
		t.failure = &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: t.gen.Hide(err.Error())}}, Err: err}
	}
	t.closeStep(why)
	if t.gen.Config.Compaction.Prune && t.failure == nil {
		compact.Prune(t.conv)
	}
	t.undo.WaitStored() // later changes of files do not belong to the session
	t.conv.Journal.Put([]store.Op{store.SetTurn{Open: false}})
	t.conv.Journal.Put(nil, t.ending()...)
	if err := t.conv.Journal.Flush(ctx); err != nil { // the journal publishes nothing more, and clients must not wait forever
		t.failure = t.turnError(err)
		for _, e := range t.ending() {
			t.host.publish(e)
		}
		for t.runner.waiting() { // these prompts fail with the turn; later ones may succeed, for example once disk space is free
			t.answering = append(t.answering, t.runner.next())
		}
	}
	t.replyAll()
}

// ending returns the events that end a turn.
func (t *turn) ending() []sdk.Event {
	id := t.runner.session
	var out []sdk.Event
	if t.failure != nil {
		out = append(out, sdk.Event{Type: sdk.EventSessionError, Properties: &sdk.SessionErrorInfo{SessionID: id, Error: t.failure.Named}})
	}
	idle := sdk.SessionStatus{Type: sdk.StatusIdle}
	return append(out,
		sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: id, Status: idle}},
		sdk.Event{Type: sdk.EventSessionIdle, Properties: &sdk.SessionRef{SessionID: id}})
}

// closeStep closes the message of the step and its open parts.
func (t *turn) closeStep(why live.Interruption) {
	if t.msg == nil {
		return
	}
	t.stepOf(t.msg).Close(why, t.failure.named())
	t.last, t.msg = t.msg, nil
}

// stepOf returns the ask.Step for an assistant message; nil stands for a message that Step.Message will make.
func (t *turn) stepOf(m *sdk.AssistantMessage) *ask.Step {
	return &ask.Step{Setup: t.Setup, Conversation: t.conv, User: t.user, Msg: m, Ledger: t.ledger}
}

// replyAll gives the outcome to the callers of all prompts of the turn.
func (t *turn) replyAll() {
	var message *sdk.MessageWithParts
	if t.last != nil {
		message = &sdk.MessageWithParts{Info: live.CopyMessage(t.last), Parts: t.conv.Parts(t.last.ID)}
	} else if t.user != nil {
		message = &sdk.MessageWithParts{Info: live.CopyMessage(t.user), Parts: t.conv.Parts(t.user.ID)}
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
	if errors.Is(err, errAborted) {
		return &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "aborted by the user"}}, Err: err}
	}
	return &TurnError{Named: t.gen.WireError(err), Err: err}
}
