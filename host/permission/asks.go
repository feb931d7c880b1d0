package permission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// Asks holds the permission requests and questions that wait for the user. Safe for use from many goroutines.
type Asks struct {
	mu          sync.Mutex
	permissions map[string]*pendingPermission
	questions   map[string]*pendingQuestion
}

type pendingPermission struct {
	request sdk.PermissionRequest
	asked   bool // no approval answers it
	reply   chan permissionReply
}

type permissionReply struct {
	reply   sdk.Reply
	message string
}

// NewAsks returns an empty set of requests.
func NewAsks() *Asks {
	return &Asks{permissions: map[string]*pendingPermission{}, questions: map[string]*pendingQuestion{}}
}

// Permission publishes a request and waits for the answer until ctx ends. asked reports that approvals do not count. A rejection without a
// message halts the turn if halt is set.
func (a *Asks) Permission(ctx context.Context, r sdk.PermissionRequest, asked, halt bool, publish func(sdk.Event)) error {
	p := &pendingPermission{request: r, asked: asked, reply: make(chan permissionReply, 1)}
	a.mu.Lock()
	a.permissions[r.ID] = p
	a.mu.Unlock()
	publish(sdk.Event{Type: sdk.EventPermissionAsked, Properties: &r})
	var answer permissionReply
	select {
	case answer = <-p.reply:
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.permissions, r.ID)
		a.mu.Unlock()
		answer = permissionReply{reply: sdk.ReplyReject}
	}
	publish(sdk.Event{Type: sdk.EventPermissionReplied, Properties: &sdk.PermissionReplied{
		SessionID: r.SessionID, RequestID: r.ID, Reply: answer.reply,
	}})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case answer.reply != sdk.ReplyReject:
		return nil
	case answer.message != "":
		return &sdk.Refusal{By: "user", Reason: answer.message}
	}
	return &sdk.Refusal{By: "user", Reason: fmt.Sprintf("permission %q was rejected", r.Permission), Halt: halt}
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

// find returns a waiting request. The caller holds mu.
func (a *Asks) find(id string) (*pendingPermission, error) {
	if p := a.permissions[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("permission request %q: %w", id, live.ErrNotFound)
}

// grant grants the waiting requests for which passes returns true, except requests that the user must answer.
func (a *Asks) grant(passes func(*sdk.PermissionRequest) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.permissions {
		if !other.asked && passes(&other.request) {
			a.resolve(other, permissionReply{reply: sdk.ReplyOnce})
		}
	}
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
	a.resolve(p, permissionReply{reply, message})
	if reply != sdk.ReplyReject {
		return nil
	}
	for _, other := range a.permissions {
		if other.request.SessionID == p.request.SessionID {
			a.resolve(other, permissionReply{reply: sdk.ReplyReject})
		}
	}
	return nil
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

// resolve answers a request; a.mu is held.
func (a *Asks) resolve(p *pendingPermission, r permissionReply) {
	delete(a.permissions, p.request.ID)
	p.reply <- r
}

type pendingQuestion struct {
	request sdk.QuestionRequest
	answers chan [][]string // nil answers: dismissed
}

// Question publishes questions, which have an identifier, and waits for the answers until ctx ends.
func (a *Asks) Question(ctx context.Context, r sdk.QuestionRequest, publish func(sdk.Event)) ([][]string, error) {
	q := &pendingQuestion{request: r, answers: make(chan [][]string, 1)}
	a.mu.Lock()
	a.questions[r.ID] = q
	a.mu.Unlock()
	publish(sdk.Event{Type: sdk.EventQuestionAsked, Properties: &r})
	var answers [][]string
	select {
	case answers = <-q.answers:
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.questions, r.ID)
		a.mu.Unlock()
	}
	reply := &sdk.QuestionReplied{SessionID: r.SessionID, RequestID: r.ID, Answers: answers}
	if answers == nil {
		publish(sdk.Event{Type: sdk.EventQuestionRejected, Properties: reply})
		return nil, errors.Join(ctx.Err(), &sdk.Refusal{By: "user", Reason: "the question was dismissed"})
	}
	publish(sdk.Event{Type: sdk.EventQuestionReplied, Properties: reply})
	return answers, nil
}

// ReplyQuestion implements Answers.ReplyQuestion.
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
	q.answers <- answers
	return nil
}
