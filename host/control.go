package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

var (
	// ErrBusy is returned if the session runs a turn.
	ErrBusy = errors.New("session is busy")
	// ErrNothing is returned if there is nothing to undo, redo or summarize, or no summary to remove.
	ErrNothing = live.ErrNothing
	// ErrElsewhere is returned if the session changed files of another working tree than the host's.
	ErrElsewhere = undo.ErrElsewhere
)

// Arguments and results of Revert, Unrevert and SessionChanges; see package undo.
type (
	RevertOptions = undo.Options
	Reverted      = undo.Reverted
	ConflictError = undo.ConflictError
	FileChange    = undo.FileChange
)

// SessionChanges returns the changes that a session and its subagents made to files, sorted by path. Reverted changes are left out.
// Errors: ErrNotFound, snapshot.ErrOff, snapshot.ErrGone.
func (h *Host) SessionChanges(ctx context.Context, session string) ([]FileChange, error) {
	s, err := h.Session(ctx, session)
	if err != nil {
		return nil, err
	}
	return h.files.Changes(ctx, s)
}

// Revert returns a session to its state before a message: it reverts the file changes of the session and its subagents since, and the model no
// longer gets the messages. The next prompt removes them; until then Unrevert restores everything, and Revert with Redo the first undone
// prompt. A revert is all or nothing: if the process dies during it, the next host of the project completes it.
//
// Errors: ErrNotFound, ErrNothing, ErrBusy, ErrElsewhere, *ConflictError, snapshot.ErrOff, snapshot.ErrGone, *store.OwnedError.
func (h *Host) Revert(ctx context.Context, o RevertOptions) (*Reverted, error) {
	return h.whileIdle(ctx, o.SessionID, func(ctx context.Context, t *turn) (*Reverted, error) { return t.undo.Revert(ctx, o) })
}

// Unrevert restores what Revert undid. Files that were modified since are a *ConflictError unless force is set. Errors: as Revert.
func (h *Host) Unrevert(ctx context.Context, session string, force bool) (*Reverted, error) {
	return h.whileIdle(ctx, session, func(ctx context.Context, t *turn) (*Reverted, error) { return t.undo.Unrevert(ctx, force) })
}

// whileIdle runs f between turns of a session. If a turn is running, it returns ErrBusy instead of waiting: the turn may take long.
func (h *Host) whileIdle(ctx context.Context, session string, f func(context.Context, *turn) (*Reverted, error)) (*Reverted, error) {
	busy := fmt.Errorf("session %s: %w", session, ErrBusy)
	if r := h.runner(session); r != nil && r.inTurn() {
		return nil, busy
	}
	var reverted *Reverted
	var failed error
	err := h.runJob(ctx, session, func(ctx context.Context, t *turn) (state, error) {
		if t.user != nil {
			return stateDone, busy
		}
		t.undo.WaitStored()
		reverted, failed = f(ctx, t)
		return stateDone, nil // no turn failed, so no event reports it
	})
	if te, ok := errors.AsType[*TurnError](err); ok && !errors.Is(err, errAborted) {
		err = te.Err
	}
	if err != nil { // the job may still run
		return nil, err
	}
	return reverted, failed
}

// Compact summarizes the conversation of a session, as if it had grown too long, and waits for the summary. A turn under way continues after it. model
// is for the summary alone; empty means the session's, or the compaction agent's. Errors: ErrNothing without messages; otherwise as Prompt.
func (h *Host) Compact(ctx context.Context, session, model string) error {
	return h.runJob(ctx, session, func(ctx context.Context, t *turn) (state, error) {
		if t.user != nil { // the turn under way continues afterwards, unchanged
			if model != "" {
				if _, err := t.gen.Models.Open(ctx, model, false); err != nil {
					return stateDone, err
				}
			}
			t.summaryModel = model
			return stateCompact, nil
		}
		u, err := t.openPrompt(ctx, &PromptInput{SessionID: session, Model: model}, &input.Command{})
		t.user, t.manual, t.summaryModel = u, true, model
		return stateCompact, err
	})
}

// Uncompact removes the latest summary of a session, so that the model gets the original messages.
// Errors: ErrNothing without a summary; otherwise as Prompt.
func (h *Host) Uncompact(ctx context.Context, session string) error {
	return h.runJob(ctx, session, func(ctx context.Context, t *turn) (state, error) {
		messages := t.conv.Snapshot()
		summary, question, _ := live.LastSummary(messages)
		if summary < 0 {
			return stateDone, fmt.Errorf("session %s has no summary: %w", session, ErrNothing)
		}
		ids := []string{messages[summary].Info.Head().ID, messages[question].Info.Head().ID}
		damaged, err := t.conv.RemoveMessages(ctx, ids, func(*sdk.Session) {})
		h.sessions.ReportDamaged(damaged)
		return stateDone, err
	})
}

// SetTitle changes the title of a session. Errors: as Prompt.
func (h *Host) SetTitle(ctx context.Context, session, title string) error {
	return h.runJob(ctx, session, func(_ context.Context, t *turn) (state, error) {
		t.conv.UpdateSession(func(s *sdk.Session) { s.Title = title })
		return stateDone, nil
	})
}

// DeleteSession deletes a session and its subagents' sessions. Errors: ErrBusy, errors of the store.
func (h *Host) DeleteSession(ctx context.Context, session string) error {
	if h.runner(session) != nil {
		return fmt.Errorf("session %s: %w", session, ErrBusy)
	}
	return h.opts.Store.Delete(ctx, session)
}
