package ask

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// Step is a request whose answer becomes a message of the conversation.
type Step struct {
	*Setup
	Conversation *live.Conversation
	User         *sdk.UserMessage // the message being answered
	Msg          *sdk.AssistantMessage
	Ledger       *hooks.Ledger
}

// Ask streams the answer into the message, with retries. The parts of failed attempts are stored too, but ignored for the model.
func (s *Step) Ask(ctx context.Context, build func(context.Context) (*sdk.ModelRequest, error)) (*Answer, error) {
	var a *Answer
	again := s.Purpose != sdk.PurposeCompaction && model.Retries(s.Generation.Config.Retry) > 0
	err := s.Setup.ask(ctx, exchange{
		build: build,
		sink: func() sink {
			a = &Answer{Step: s, ctx: ctx, open: map[string]*block{}, blank: a == nil && again}
			return a
		},
		waits: func(try int, wait time.Duration, err error) func() {
			s.update(live.IgnorePart)
			s.Conversation.AddPart(&sdk.RetryPart{PartHead: s.Conversation.NewPart(s.Msg), Attempt: try, Error: *s.Generation.WireError(err), Time: sdk.RetryTime{Created: live.Now()}})
			Status(s.Conversation, sdk.SessionStatus{Type: sdk.StatusRetry, Attempt: try, Message: s.Generation.Hide(err.Error()), Next: time.Now().Add(wait).UnixMilli()})
			return func() { Status(s.Conversation, sdk.SessionStatus{Type: sdk.StatusBusy}) }
		},
	})
	if errors.Is(err, sdk.ErrAnswerLimit) || model.Classify(err) == model.ClassOverflow {
		s.update(live.IgnorePart) // they would fill the context of every later request
	}
	return a, err
}

// Discard adds the cost of an answer to the session. The parts stay stored, but ignored for the model.
func (s *Step) Discard(a *Answer) {
	s.update(live.IgnorePart)
	account(s.Conversation, s.Model, a.tokens)
}

// Message returns a new message of the setup's agent that answers parent.
func (s *Step) Message(parent string) *sdk.AssistantMessage {
	return &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: s.Conversation.IDs.New(sdk.PrefixMessage), SessionID: s.SessionID}, ParentID: parent,
		ModelID: s.Model.ID, ProviderID: s.Model.ProviderID, Mode: s.Agent.Name, Agent: s.Agent.Name,
		Path: sdk.MessagePath{Cwd: s.Project.Directory, Root: s.Project.Worktree}, Time: sdk.MessageTime{Created: live.Now()},
	}
}

// Status publishes the status of a session.
func Status(c *live.Conversation, s sdk.SessionStatus) {
	c.Journal.Put(nil, sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: c.ID(), Status: s}})
}

// update changes the parts of the message and records those for which change returns true.
func (s *Step) update(change func(sdk.Part) bool) {
	for _, p := range s.Conversation.Parts(s.Msg.ID) {
		changed := false
		s.Conversation.Locked(func() { changed = change(p) })
		if changed {
			s.Conversation.PutPart(p)
		}
	}
}

// Finish stores how the answer ended and its cost. The message stays open until its tool calls have run.
func (s *Step) Finish(a *Answer) {
	reason := a.Reason
	if len(a.Calls) > 0 && reason == sdk.FinishStop {
		reason = sdk.FinishToolCalls
	}
	cost := model.StepCost(&s.Model.Model, a.tokens)
	s.Conversation.AddPart(&sdk.StepFinishPart{PartHead: s.Conversation.NewPart(s.Msg), Reason: reason, Cost: cost, Tokens: a.tokens})
	s.Conversation.Locked(func() {
		s.Msg.Finish, s.Msg.Tokens, s.Msg.Cost = reason, a.tokens, cost
		if reason == sdk.FinishContentFilter {
			s.Msg.Error = &sdk.NamedError{Name: sdk.ErrorContentFilter, Data: sdk.ErrorData{Message: "the provider's content filter ended the answer"}}
		}
	})
	s.Conversation.PutMessage(s.Msg)
	account(s.Conversation, s.Model, a.tokens)
}

// Close closes the message and its open parts. failure is nil if the turn did not fail.
func (s *Step) Close(why live.Interruption, failure *sdk.NamedError) {
	s.update(func(p sdk.Part) bool { return live.ClosePart(p, why) })
	s.Conversation.Locked(func() {
		if failure != nil && s.Msg.Error == nil {
			s.Msg.Error = failure
		}
		s.Msg.Time.Completed = live.Now()
	})
	s.Conversation.PutMessage(s.Msg)
	StoreLedger(s.Conversation, s.Generation, s.Msg.ID, s.Purpose, s.Ledger)
}
