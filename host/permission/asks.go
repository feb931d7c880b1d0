package permission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// Asks holds the permission requests and questions that wait for the user, and receives the answers. Safe for use from many goroutines.
type Asks struct {
	ctx       context.Context
	approvals *Approvals

	mu          sync.Mutex
	permissions map[string]*pendingPermission
	questions   map[string]*pending[sdk.QuestionRequest, [][]string] // nil answers: dismissed
}

// pending is a request that waits for its answer.
type pending[R, A any] struct {
	request   R
	alwaysAsk bool // the user must answer; approvals do not count
	answer    chan A
}

type pendingPermission = pending[sdk.PermissionRequest, permissionReply]

type permissionReply struct {
	reply   sdk.Reply
	message string
	byUser  bool // to this request
}

// NewAsks returns an empty set of requests. ctx ends with the host. The user's answers may add approvals.
func NewAsks(ctx context.Context, approvals *Approvals) *Asks {
	return &Asks{
		ctx: ctx, approvals: approvals, permissions: map[string]*pendingPermission{},
		questions: map[string]*pending[sdk.QuestionRequest, [][]string]{},
	}
}

// wait adds a request to open, which it publishes, and waits for the answer; it is zero if ctx ends first.
func wait[R, A any](ctx context.Context, a *Asks, open map[string]*pending[R, A], id string, p *pending[R, A], publish func()) (answer A) {
	p.answer = make(chan A, 1)
	a.mu.Lock()
	open[id] = p
	a.mu.Unlock()
	publish()
	select {
	case answer = <-p.answer:
	case <-ctx.Done():
		a.mu.Lock()
		delete(open, id)
		a.mu.Unlock()
	}
	return answer
}

// AskPermission publishes a request and waits for the answer until ctx ends. alwaysAsk reports that approvals do not count. A rejection without a
// message halts the turn if halt is set.
func AskPermission(ctx context.Context, a *Asks, r sdk.PermissionRequest, alwaysAsk, halt bool, publish func(sdk.Event)) error {
	agreed := r.Agreed
	r.Agreed = nil // observers copy the request at any time
	p := &pendingPermission{request: r, alwaysAsk: alwaysAsk}
	answer := wait(ctx, a, a.permissions, r.ID, p, func() { publish(sdk.Event{Type: sdk.EventPermissionAsked, Properties: &r}) })
	answer.reply = cmp.Or(answer.reply, sdk.ReplyReject)
	publish(sdk.Event{Type: sdk.EventPermissionReplied, Properties: &sdk.PermissionReplied{SessionID: r.SessionID, RequestID: r.ID, Reply: answer.reply}})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case answer.reply != sdk.ReplyReject:
		if agreed != nil && answer.byUser {
			*agreed = true
		}
		return nil
	case answer.message != "":
		return &sdk.Refusal{By: "user", Reason: "the user says: " + answer.message}
	}
	return &sdk.Refusal{By: "user", Reason: fmt.Sprintf("permission %q was rejected", r.Permission), Halt: halt}
}

// AskQuestions publishes questions, which have an identifier, and waits for the answers until ctx ends.
func AskQuestions(ctx context.Context, a *Asks, r sdk.QuestionRequest, publish func(sdk.Event)) ([][]string, error) {
	q := &pending[sdk.QuestionRequest, [][]string]{request: r}
	answers := wait(ctx, a, a.questions, r.ID, q, func() { publish(sdk.Event{Type: sdk.EventQuestionAsked, Properties: &r}) })
	reply := &sdk.QuestionReplied{SessionID: r.SessionID, RequestID: r.ID, Answers: answers}
	if answers == nil {
		publish(sdk.Event{Type: sdk.EventQuestionRejected, Properties: reply})
		return nil, errors.Join(ctx.Err(), &sdk.Refusal{By: "user", Reason: "the question was dismissed"})
	}
	publish(sdk.Event{Type: sdk.EventQuestionReplied, Properties: reply})
	return answers, nil
}

// Permissions lists the waiting requests.
func (a *Asks) Permissions() []sdk.PermissionRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]sdk.PermissionRequest, 0, len(a.permissions))
	for _, p := range a.permissions {
		out = append(out, p.request)
	}
	return out
}

// ReplyPermission answers a permission request. ReplyAlways also allows the request's Always patterns in this project from then on, and grants
// waiting requests that they allow; ReplyReject rejects all waiting requests of the session. A rejection with a message goes to the model; one
// without a message ends the turn. Errors: ErrNotFound if the request is not waiting, and errors of the store; after these, an "always" counts
// only once.
func (a *Asks) ReplyPermission(id string, reply sdk.Reply, message string) error {
	if reply != sdk.ReplyAlways {
		return a.reply(id, reply, message)
	}
	r, err := a.waiting(id)
	if err != nil {
		return err
	}
	rules, kept := a.approvals.Keep(a.ctx, r) // before the call continues, because the next call may ask the same
	if err := a.reply(id, reply, message); err != nil {
		return err
	}
	if kept == nil {
		a.grant(rules.Approve)
	}
	return kept
}

// AllowInSession grants a permission request, and allows its Always patterns in the session and its subagents until the process ends. It also
// grants waiting requests of the session that they allow. Errors: ErrNotFound if the request is not waiting.
func (a *Asks) AllowInSession(id string) error {
	r, err := a.waiting(id)
	if err != nil {
		return err
	}
	root, rootErr := a.approvals.Root(a.ctx, r.SessionID)
	if rootErr == nil {
		a.approvals.allow(root, r.Permission, r.Always...) // before the call continues, too
	}
	if err := errors.Join(a.reply(id, sdk.ReplyOnce, ""), rootErr); err != nil {
		return err
	}
	a.grantIn(root)
	return nil
}

// AcceptEdits sets whether files may be edited in a session and its subagents without asking, until the process ends. Guarded files, and edits
// that rules deny, are not affected.
func (a *Asks) AcceptEdits(session string, on bool) {
	if !on {
		a.approvals.revoke(session, "edit", "*")
		return
	}
	a.approvals.allow(session, "edit", "*")
	a.grantIn(session)
}

// grantIn grants waiting requests that are allowed in a session now.
func (a *Asks) grantIn(root string) {
	a.grant(func(r *sdk.PermissionRequest) bool {
		owner, err := a.approvals.Root(a.ctx, r.SessionID)
		return err == nil && owner == root && a.approvals.covers(root, r)
	})
}

// grant grants the waiting requests for which passes returns true, except requests that the user must answer.
func (a *Asks) grant(passes func(*sdk.PermissionRequest) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.permissions {
		if !other.alwaysAsk && passes(&other.request) {
			a.resolve(other, permissionReply{reply: sdk.ReplyOnce})
		}
	}
}

// waiting returns a waiting request. Errors: ErrNotFound.
func (a *Asks) waiting(id string) (*sdk.PermissionRequest, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.find(id)
	if err != nil {
		return nil, err
	}
	return &p.request, nil
}

// find returns a waiting request; a.mu is held. Errors: ErrNotFound.
func (a *Asks) find(id string) (*pendingPermission, error) {
	if p := a.permissions[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("permission request %q: %w", id, live.ErrNotFound)
}

// reply answers a request; ReplyReject rejects all waiting requests of the session. Errors: ErrNotFound.
func (a *Asks) reply(id string, reply sdk.Reply, message string) error {
	if !slices.Contains([]sdk.Reply{sdk.ReplyOnce, sdk.ReplyAlways, sdk.ReplyReject}, reply) {
		return fmt.Errorf("reply %q: want once, always or reject", reply)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.find(id)
	if err != nil {
		return err
	}
	a.resolve(p, permissionReply{reply, message, true})
	for _, other := range a.permissions {
		if reply == sdk.ReplyReject && other.request.SessionID == p.request.SessionID {
			a.resolve(other, permissionReply{reply: sdk.ReplyReject})
		}
	}
	return nil
}

// resolve answers a request; a.mu is held.
func (a *Asks) resolve(p *pendingPermission, r permissionReply) {
	delete(a.permissions, p.request.ID)
	p.answer <- r
}

// ReplyQuestion answers a question request, for each question with the chosen labels or the free text. Nil dismisses the request; an empty list
// declines a form. Errors: ErrNotFound if no call waits for it.
func (a *Asks) ReplyQuestion(id string, answers [][]string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.questions[id]
	if q == nil {
		return fmt.Errorf("question %q: %w", id, live.ErrNotFound)
	}
	isForm := slices.ContainsFunc(q.request.Questions, func(one sdk.Question) bool { return one.Form != nil })
	declined := answers != nil && len(answers) == 0 && isForm
	if answers != nil && len(answers) != len(q.request.Questions) && !declined {
		return fmt.Errorf("question %q: %d answers for %d questions", id, len(answers), len(q.request.Questions))
	}
	delete(a.questions, id)
	q.answer <- answers
	return nil
}
