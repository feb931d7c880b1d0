package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// PromptInput is a prompt as a client gives it.
type PromptInput struct {
	SessionID string `json:"sessionID"`
	// Text is what the user typed: @file, @dir/ and @agent in it are resolved. Parts are added as they are;
	// their identifiers are set here.
	Text  string    `json:"text,omitempty"`
	Parts sdk.Parts `json:"parts"`
	// Command names a command whose template, filled with Text as its arguments, is the prompt.
	Command string `json:"command,omitempty"`

	Agent   string            `json:"agent,omitempty"`   // default: the session's, else the configured one
	Model   string            `json:"model,omitempty"`   // provider/model; default: the agent's, the session's, the configured one
	Variant string            `json:"variant,omitempty"` // of the model
	Format  *sdk.OutputFormat `json:"format,omitempty"`
	System  string            `json:"system,omitempty"`
	Tools   map[string]bool   `json:"tools,omitempty"`
	NoReply bool              `json:"noReply,omitempty"` // store it and do not ask the model

	compact   bool // no prompt: summarise the conversation
	uncompact bool // no prompt: take the latest summary out
	// between is no prompt but work on a session that runs no turn.
	between func(context.Context, *turn) error
}

// prepare turns the next prompt into a user message. A prompt that comes while a turn runs and cannot be
// used is refused by itself; the turn goes on.
func (t *turn) prepare(ctx context.Context) (event, error) {
	q := t.r.take()
	if q == nil {
		return evFail, errors.New("turn: no prompt to prepare")
	}
	running, answered, was := t.user != nil, t.answered(), *t
	t.answering = append(t.answering, q)
	if !running {
		t.status(sdk.SessionStatus{Type: sdk.StatusBusy})
		t.c.Journal.Put([]store.Op{store.SetTurn{Open: true}})
	}
	ev, err := t.accept(ctx, q)
	if q.stored {
		t.c.Journal.Put([]store.Op{store.TakePrompt{PromptID: q.id}})
	}
	switch {
	case !running:
		return ev, err
	case err != nil:
		*t = was
		t.show(t.user)
		q.result <- promptResult{err: t.turnError(err)}
		ev = evSettled
	}
	if ev == evSettled && !answered { // nothing to answer, but the turn has more to do
		return evPrepared, nil
	}
	return ev, nil
}

// answered reports whether the model has nothing more to do for the latest prompt.
func (t *turn) answered() bool {
	return t.user != nil && t.last != nil && t.last.ParentID == t.user.ID && t.last.Error == nil &&
		(len(t.calls) == 0 || len(t.last.Structured) > 0)
}

// accept resolves a prompt, stores its message and says what it leads to.
func (t *turn) accept(ctx context.Context, q *queued) (event, error) {
	in := q.input
	if in.between != nil {
		if t.user != nil {
			return evFail, fmt.Errorf("session %s: %w", t.r.session, ErrBusy)
		}
		t.k.Settle()
		return evSettled, in.between(ctx, t)
	}
	if in.uncompact {
		return evSettled, t.uncompact(ctx)
	}
	if in.compact && t.user != nil { // the turn under way goes on afterwards, as it is
		return t.compactBusy(ctx, in.Model)
	}
	command, err := t.h.expandCommand(ctx, t.g, &in)
	if err != nil {
		return evFail, err
	}
	if err := t.address(ctx, &in, command); err != nil {
		return evFail, err
	}
	damaged, err := t.k.Drop(ctx)
	t.h.leftOut(damaged)
	if err != nil {
		return evFail, err
	}
	u := &sdk.UserMessage{
		MessageHead: sdk.MessageHead{ID: q.id, SessionID: t.r.session}, Time: sdk.MessageTime{Created: live.Now()},
		Agent: t.agent.Name, Model: sdk.ModelRef{ProviderID: t.model.ProviderID, ModelID: t.model.ID, Variant: in.Variant},
		Format: in.Format, System: in.System, Tools: in.Tools,
	}
	if in.compact {
		t.user, t.manual = u, true
		t.show(u)
		return evOverflow, nil
	}
	t.show(u)
	t.rendered = command != nil && (command.rendered || command.runs() || t.h.author(command) != authorUser)
	ledger := &hooks.Ledger{}
	parts, err := t.resolveParts(ctx, &in, command, u, ledger)
	if err != nil {
		t.storeLedger(u.ID, t.purpose, ledger) // what a template ran before it failed
		return evFail, err
	}
	v := &sdk.ChatMessageValue{Message: u, Parts: parts}
	hi := &sdk.ChatMessageInput{SessionID: u.SessionID, Agent: u.Agent, Model: u.Model, MessageID: u.ID}
	if _, err := t.g.Engine.Transform(ctx, sdk.PointChatMessage, hooks.Scope{Ledger: ledger}, hi, v); err != nil {
		return evFail, err
	}
	v.Message.MessageHead = u.MessageHead
	if err := t.readdress(ctx, u, v.Message); err != nil {
		return evFail, err
	}
	t.user = v.Message
	t.step, t.continued, t.corrections, t.doom = 0, 0, 0, doomWatch{} // each prompt has its own
	t.show(t.user)
	t.c.Add(t.user, t.owned(v.Parts)...)
	t.storeLedger(u.ID, t.purpose, ledger)
	t.c.UpdateSession(func(s *sdk.Session) {
		s.Agent = t.agent.Name
		s.Model = &sdk.SessionModel{ID: t.model.ID, ProviderID: t.model.ProviderID, Variant: t.user.Model.Variant}
	})
	return t.firstEvent(ctx, in.NoReply)
}

// firstEvent says what a stored prompt leads to.
func (t *turn) firstEvent(ctx context.Context, noReply bool) (event, error) {
	if noReply {
		return evSettled, nil
	}
	started, err := t.startSubtasks(ctx)
	switch {
	case err != nil:
		return evFail, err
	case started:
		return evToolCalls, nil
	case t.overflows(t.lastTokens()):
		return evOverflow, nil
	}
	return evPrepared, nil
}

// address finds the agent, the model and the rules for a prompt.
func (t *turn) address(ctx context.Context, in *PromptInput, command *command) error {
	s := t.c.SessionCopy()
	byCommand := command != nil && in.Model == "" && command.Model != ""
	if command != nil {
		in.Agent = cmp.Or(in.Agent, command.Agent)
		in.Model = cmp.Or(in.Model, command.Model)
		in.Variant = cmp.Or(in.Variant, command.Variant)
	}
	usual := cmp.Or(s.Agent, t.g.Config.DefaultAgent, sdk.AgentBuild)
	name := cmp.Or(in.Agent, usual)
	agent, err := t.g.Agent(name)
	if err != nil && command != nil && name == command.Agent {
		return fmt.Errorf("command %s names its agent: %w", command.label(), err)
	}
	if err != nil {
		return err
	}
	t.delegate = ""
	if command != nil && delegates(&command.Command.Command, &agent) {
		t.delegate = name
		if agent, err = t.g.Agent(usual); err != nil {
			return err
		}
	}
	if agent.Mode == sdk.ModeSubagent && s.ParentID == "" {
		return fmt.Errorf("agent %q%s %w", agent.Name, namedBy(in.Agent == "", agent.Name, t.g.Config), ErrSubagent)
	}
	t.agent = agent
	byRepository := byCommand && t.g.ChoosesCommandModel(&command.Command.Command)
	if err := t.useModel(ctx, in.Model, byRepository, s); err != nil && byCommand {
		return fmt.Errorf("command %s names its model: %w", command.label(), err)
	} else if err != nil {
		return err
	}
	t.purpose = sdk.PurposeTurn
	if s.ParentID != "" {
		t.purpose = sdk.PurposeSubtask
	}
	t.rules, t.agentPath, err = t.h.rulesIn(ctx, t.g, &agent, s)
	return err
}

// namedBy returns where an agent that the prompt does not name comes from.
func namedBy(usual bool, agent string, c *sdk.Config) string {
	if usual && agent == c.DefaultAgent {
		return " (default_agent in the configuration)"
	}
	return ""
}

// useModel sets the model: the one asked for, the agent's, the session's, the default. byRepository says that files of the
// repository asked for it.
func (t *turn) useModel(ctx context.Context, name string, byRepository bool, s *sdk.Session) error {
	byAgent := false
	if name == "" && t.agent.Model != nil {
		name, byAgent = t.agent.Model.String(), true
		byRepository = t.g.ChoosesAgentModel(&t.agent)
	}
	if name == "" && s.Model != nil {
		name = s.Model.ProviderID + "/" + s.Model.ID
	}
	opened, err := t.g.Models.Open(ctx, name, byRepository)
	if err != nil && byAgent {
		return fmt.Errorf("agent %q (%s) names its model: %w", t.agent.Name, cmp.Or(t.agent.Origin, "of a plugin"), err)
	}
	if err == nil {
		t.model = opened
	}
	return err
}

// readdress honours a hook that changed the agent or the model of the message.
func (t *turn) readdress(ctx context.Context, before, after *sdk.UserMessage) error {
	if after.Agent != before.Agent {
		agent, err := t.g.Agent(after.Agent)
		if err != nil {
			return fmt.Errorf("hook at chat.message: %w", err)
		}
		t.agent = agent
		if t.rules, t.agentPath, err = t.h.rulesIn(ctx, t.g, &agent, t.c.SessionCopy()); err != nil {
			return err
		}
	}
	if after.Model.ProviderID != before.Model.ProviderID || after.Model.ModelID != before.Model.ModelID {
		return t.useModel(ctx, after.Model.String(), false, t.c.SessionCopy())
	}
	return nil
}

// owned makes the parts the user message's.
func (t *turn) owned(parts sdk.Parts) []sdk.Part {
	for _, p := range parts {
		*p.Head() = t.c.NewPart(t.user)
	}
	return parts
}

// resolveParts builds the parts of the prompt, those of a command through command.execute.before.
func (t *turn) resolveParts(ctx context.Context, in *PromptInput, command *command, u *sdk.UserMessage, ledger *hooks.Ledger) (sdk.Parts, error) {
	r := &resolver{h: t.h, g: t.g, model: &t.model.Model, references: references{h: t.h, g: t.g}, rules: t.rules}
	parts, err := t.promptText(ctx, r, in, command, u, ledger)
	if err != nil {
		return nil, err
	}
	for _, p := range in.Parts {
		parts = append(parts, r.part(p)...)
	}
	if r.err != nil {
		return nil, r.err
	}
	if command == nil {
		if len(parts) == 0 {
			return nil, errors.New("the prompt is empty: nothing to answer")
		}
		return parts, nil
	}
	parts = t.commandParts(&command.Command.Command, parts)
	v := &sdk.CommandValue{Parts: parts}
	ci := &sdk.CommandInput{Command: command.Name, SessionID: u.SessionID, Arguments: in.arguments()}
	if _, err := t.g.Engine.Transform(ctx, sdk.PointCommand, hooks.Scope{Ledger: ledger}, ci, v); err != nil {
		return nil, err
	}
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventCommandExecuted, Properties: &sdk.CommandInfo{
		Name: command.Name, SessionID: u.SessionID, Arguments: ci.Arguments, MessageID: u.ID,
	}})
	return v.Parts, nil
}
