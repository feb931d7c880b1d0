package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

// maxVisits bounds what plugins do at once on behalf of one session. It is what ends a plugin whose own calls call it again
// without end over a wire that does not carry contexts.
const maxVisits = 64

// view is a running turn as it stood when it was last shown: plugins ask for things at any time and from any goroutine, and the
// turn itself belongs to its runner's.
type view struct {
	turn *turn           // a copy that nobody changes
	ctx  context.Context // of the one turn the view is of
}

// running is the host as plugins see it: the turns that run.
type running struct{ *Host }

// visit is one request of a plugin on behalf of a session.
type visit struct {
	turn    *turn // the visit's own, with a ledger of its own
	entries []hooks.Entry
}

// show makes the turn visible to plugins as it stands now, working on the user message given.
func (t *turn) show(user *sdk.UserMessage) {
	c := *t
	c.user, c.answering, c.calls, c.tools, c.doom, c.converted = user, nil, nil, nil, tools.Doom{}, convert.Cache{}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.view = &view{turn: &c, ctx: t.r.turnCtx}
}

// place returns the message that what happens now is recorded with: the step under way, or else the prompt.
func (t *turn) place() string {
	if t.msg != nil && t.msg.ParentID == t.user.ID {
		return t.msg.ID
	}
	return t.user.ID
}

// viewOf returns the running turn of a session, nil when there is none.
func (h *Host) viewOf(session string) *view {
	h.mu.Lock()
	r := h.runners[session]
	h.mu.Unlock()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// Visit runs f on the running turn of a session, for a plugin.
func (h running) Visit(ctx context.Context, session string, f func(context.Context, generation.Turn) error) error {
	h.mu.Lock()
	r := h.runners[session]
	h.mu.Unlock()
	if r == nil {
		return fmt.Errorf("session %q: %w", session, generation.ErrNoTurn)
	}
	seen, err := r.beginVisit()
	if err != nil {
		return err
	}
	defer r.endVisit(seen)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(seen.ctx, func() { cancel(context.Cause(seen.ctx)) })()
	t := *seen.turn
	t.ledger = &hooks.Ledger{}
	v := &visit{turn: &t}
	err = f(ctx, v)
	ask.StoreEntries(t.c, t.g, t.place(), t.Purpose, append(t.ledger.Entries(), v.entries...))
	return err
}

// beginVisit returns the running turn and keeps the session and the generation until endVisit.
func (r *runner) beginVisit() (*view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view
	switch {
	case v == nil || !r.host.plugins.Retain(v.turn.g):
		return nil, fmt.Errorf("session %q: %w", r.session, generation.ErrNoTurn)
	case r.visits >= maxVisits:
		r.host.plugins.Release(v.turn.g)
		return nil, fmt.Errorf("session %q: plugins ask for more than %d things at once", r.session, maxVisits)
	}
	r.visits++
	r.beside++
	return v, nil
}

func (r *runner) endVisit(v *view) {
	r.host.plugins.Release(v.turn.g)
	r.mu.Lock()
	r.visits--
	r.beside--
	r.mu.Unlock()
	r.nudge()
}

// refusedByUser notes that a refusal ends the turn, when it does.
func (t *turn) refusedByUser(err error) error {
	var refusal *sdk.Refusal
	if errors.As(err, &refusal) && refusal.Halt {
		t.halt(err)
	}
	return err
}

// Denies reports whether the rules of the session's turn deny something; false when no turn runs.
func (h running) Denies(session, key, pattern string) bool {
	v := h.viewOf(session)
	return v != nil && v.turn.Setup != nil && v.turn.Rules.Decide(key, pattern).Action == sdk.ActionDeny
}

// Messages returns the messages of a session since its last compaction. Errors: ErrNotFound.
func (h running) Messages(ctx context.Context, session string) ([]sdk.MessageWithParts, error) {
	if v := h.viewOf(session); v != nil {
		return v.turn.c.Snapshot(), nil
	}
	messages, damaged, err := live.Load(ctx, h.opts.Store, session)
	h.sessions.LeftOut(damaged)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %q: %w", session, ErrNotFound)
	}
	return messages, err
}

// Generation returns the generation of the turn.
func (v *visit) Generation() *generation.Set { return v.turn.g }

// Permit decides a request of a plugin. An answer "always" can hold for the patterns that are asked for, no wider ones.
func (v *visit) Permit(ctx context.Context, by sdk.Manifest, req sdk.PermissionRequest) error {
	req.Agent, req.Metadata = v.turn.Agent.Name, permission.AskedBy(req.Metadata, "", by.Name)
	return v.turn.refusedByUser(v.turn.permit(ctx, req, "", generation.OriginOf(by)))
}

// Question asks the user.
func (v *visit) Question(ctx context.Context, req sdk.QuestionRequest) ([][]string, error) {
	return v.turn.question(ctx, req)
}
