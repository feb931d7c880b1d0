package permission

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// Answers receives the user's decisions about waiting requests. Safe for use from many goroutines.
type Answers struct {
	ctx       context.Context
	asks      *Asks
	approvals *Approvals
}

// NewAnswers returns the answers to these requests. ctx ends with the host.
func NewAnswers(ctx context.Context, asks *Asks, approvals *Approvals) Answers {
	return Answers{ctx, asks, approvals}
}

// ReplyPermission answers a permission request. ReplyAlways also allows the request's Always patterns in this project from then on, and grants
// waiting requests that they allow; ReplyReject rejects all waiting requests of the session. A rejection with a message goes to the model; one
// without a message ends the turn. Errors: ErrNotFound if the request does not wait, and errors of the store: then an "always" counts once.
func (a Answers) ReplyPermission(id string, reply sdk.Reply, message string) error {
	if reply != sdk.ReplyAlways {
		return a.asks.reply(id, reply, message)
	}
	r, err := a.asks.waiting(id)
	if err != nil {
		return err
	}
	rules, kept := a.approvals.Keep(a.ctx, r) // before the call continues: the next one may ask the same
	if err := a.asks.reply(id, reply, message); err != nil {
		return err
	}
	if kept == nil {
		a.asks.grant(rules.Approve)
	}
	return kept
}

// AllowInSession grants a permission request, and allows its Always patterns in the session and its subagents until the process ends. It also
// grants waiting requests of the session that they allow. Errors: ErrNotFound if the request does not wait.
func (a Answers) AllowInSession(id string) error {
	r, err := a.asks.waiting(id)
	if err != nil {
		return err
	}
	root, rootErr := a.approvals.Root(a.ctx, r.SessionID)
	if rootErr == nil {
		a.approvals.allow(root, r.Permission, r.Always...) // before the call continues, too
	}
	if err := errors.Join(a.asks.reply(id, sdk.ReplyOnce, ""), rootErr); err != nil {
		return err
	}
	a.grantWaiting(root)
	return nil
}

// AcceptEdits sets whether files may be edited in a session and its subagents without asking, until the process ends. Guarded files, and edits
// that rules deny, are not affected.
func (a Answers) AcceptEdits(session string, on bool) {
	if !on {
		a.approvals.revoke(session, "edit", "*")
		return
	}
	a.approvals.allow(session, "edit", "*")
	a.grantWaiting(session)
}

// grantWaiting grants waiting requests that are allowed in the session now.
func (a Answers) grantWaiting(root string) {
	a.asks.grant(func(r *sdk.PermissionRequest) bool {
		owner, err := a.approvals.Root(a.ctx, r.SessionID)
		return err == nil && owner == root && a.approvals.covers(root, r)
	})
}

// Permissions lists the waiting requests.
func (a Answers) Permissions() []sdk.PermissionRequest { return a.asks.Permissions() }

// ReplyQuestion answers a question request, for each question with the chosen labels or the free text. Nil dismisses the request; an empty list
// declines a form. Errors: ErrNotFound if no call waits for it.
func (a Answers) ReplyQuestion(id string, answers [][]string) error {
	return a.asks.ReplyQuestion(id, answers)
}
