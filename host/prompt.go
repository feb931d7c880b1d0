package host

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/tools"
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
	// Shell says that Text is a shell command: it runs as a call of the bash tool, permissions included, and the prompt consists of it
	// and its output. Use it with NoReply.
	Shell bool `json:"shell,omitempty"`
}

// prepare turns the next prompt into a user message. A prompt that comes while a turn runs and cannot be
// used is refused by itself; the turn continues.
func (t *turn) prepare(ctx context.Context) (state, error) {
	q := t.r.take()
	running, answered, was := t.user != nil, t.answered(), *t
	t.answering = append(t.answering, q)
	if !running {
		ask.Status(t.c, sdk.SessionStatus{Type: sdk.StatusBusy})
		t.c.Journal.Put([]store.Op{store.SetTurn{Open: true}})
	}
	accept := t.accept
	if q.job != nil {
		accept = func(ctx context.Context, _ *queued) (state, error) { return q.job(ctx, t) }
	}
	next, err := accept(ctx, q)
	failed := t.settle(ctx, q)
	switch {
	case !running:
		return next, cmp.Or(err, failed)
	case err != nil || failed != nil:
		*t = was
		t.show(t.user)
		next = stateDone
		if failed != nil || ctx.Err() != nil { // it ends with the turn
			t.answering = append(t.answering, q)
			break
		}
		q.reply(nil, err)
	}
	if next == stateDone && !answered { // nothing to answer, but the turn has more to do
		return stateAsk, nil
	}
	return next, nil
}

// settle makes durable what became of a prompt.
func (t *turn) settle(ctx context.Context, q *queued) error {
	if q.stored {
		t.c.Journal.Put([]store.Op{store.TakePrompt{PromptID: q.id}})
	}
	err := t.c.Journal.Flush(context.WithoutCancel(ctx))
	if err == nil {
		q.stored, q.kept = false, q.job != nil || t.user != nil && t.user.ID == q.id
	}
	return err
}

// answered reports whether the model has nothing more to do for the latest prompt.
func (t *turn) answered() bool {
	return t.user != nil && t.last != nil && t.last.ParentID == t.user.ID && t.last.Error == nil &&
		(len(t.calls) == 0 || len(t.last.Structured) > 0)
}

// accept resolves a prompt, stores its message and says what it leads to.
func (t *turn) accept(ctx context.Context, q *queued) (state, error) {
	in := q.input
	command, err := input.Expand(ctx, t.g, in.Command, in.Text)
	if err != nil {
		return stateDone, err
	}
	if in.Shell {
		command = input.ShellLine(in.Text)
	}
	u, err := t.open(ctx, q.id, &in, command)
	if err != nil {
		return stateDone, err
	}
	t.rendered = command != nil && command.Written(t.h.author(command))
	ledger := &hooks.Ledger{}
	parts, err := t.resolveParts(ctx, &in, command, u, ledger)
	if err != nil {
		ask.StoreLedger(t.c, t.g, u.ID, t.Purpose, ledger) // what a template ran before it failed
		return stateDone, err
	}
	v := &sdk.ChatMessageValue{Message: u, Parts: parts}
	hi := &sdk.ChatMessageInput{SessionID: u.SessionID, Agent: u.Agent, Model: u.Model, MessageID: u.ID}
	if err := t.g.Fire(ctx, sdk.PointChatMessage, ledger, "", hi, v); err != nil {
		return stateDone, err
	}
	v.Message.MessageHead = u.MessageHead
	if err := t.readdress(ctx, u, v.Message); err != nil {
		return stateDone, err
	}
	t.user = v.Message
	t.step, t.continued, t.corrections, t.doom = 0, 0, 0, tools.Doom{} // each prompt has its own
	t.show(t.user)
	t.c.Add(t.user, t.owned(v.Parts)...)
	ask.StoreLedger(t.c, t.g, u.ID, t.Purpose, ledger)
	itsAgent, itsModel := command.Chooses(q.input.Agent, q.input.Model)
	t.c.UpdateSession(func(s *sdk.Session) {
		if !itsAgent {
			s.Agent = t.Agent.Name
		}
		if !itsModel {
			s.Model = &sdk.SessionModel{ID: t.Model.ID, ProviderID: t.Model.ProviderID, Variant: t.user.Model.Variant}
		}
	})
	return t.firstState(ctx, in.NoReply)
}

// open makes the setup for a prompt and its user message, and drops what was undone before it.
func (t *turn) open(ctx context.Context, id string, in *PromptInput, command *input.Command) (*sdk.UserMessage, error) {
	if err := t.address(ctx, in, command); err != nil {
		return nil, err
	}
	t.CheckVariant(in.Variant, t.h.log)
	damaged, err := t.k.Drop(ctx)
	t.h.sessions.LeftOut(damaged)
	if err != nil {
		return nil, err
	}
	u := &sdk.UserMessage{
		MessageHead: sdk.MessageHead{ID: id, SessionID: t.r.session}, Time: sdk.MessageTime{Created: live.Now()},
		Agent: t.Agent.Name, Model: sdk.ModelRef{ProviderID: t.Model.ProviderID, ModelID: t.Model.ID, Variant: in.Variant},
		Format: in.Format, System: in.System, Tools: in.Tools,
	}
	t.show(u)
	return u, nil
}

// firstState returns what a stored prompt leads to.
func (t *turn) firstState(ctx context.Context, noReply bool) (state, error) {
	if noReply {
		return stateDone, nil
	}
	started, err := t.startSubtasks(ctx)
	switch {
	case err != nil:
		return stateDone, err
	case started:
		return stateTools, nil
	case compact.Overflows(&t.Model.Model, t.g.Config.Compaction, compact.LastTokens(t.c.Snapshot())):
		return stateCompact, nil
	}
	return stateAsk, nil
}

// address makes the setup for a prompt: its agent, its model and its rules.
func (t *turn) address(ctx context.Context, in *PromptInput, command *input.Command) error {
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
		return fmt.Errorf("command %s names its agent: %w", command.Label(), err)
	}
	if err != nil {
		return err
	}
	t.delegate = ""
	if command != nil && command.Delegates(&agent) {
		t.delegate = name
		if agent, err = t.g.Agent(usual); err != nil {
			return err
		}
	}
	if agent.Mode == sdk.ModeSubagent && s.ParentID == "" && (command == nil || command.Agent != agent.Name) {
		by := ""
		if in.Agent == "" && agent.Name == t.g.Config.DefaultAgent {
			by = " (default_agent in the configuration)"
		}
		return fmt.Errorf("agent %q%s %w", agent.Name, by, ErrSubagent)
	}
	byRepository := byCommand && t.g.ChoosesCommandModel(&command.Command.Command)
	m, err := ask.OpenModel(ctx, t.g, &agent, in.Model, byRepository, s.Model.String())
	if err != nil && byCommand {
		return fmt.Errorf("command %s names its model: %w", command.Label(), err)
	}
	if err != nil {
		return err
	}
	t.Setup, err = t.newSetup(ctx, agent, m)
	return err
}

// newSetup returns the setup for an agent and a model in the turn's session.
func (t *turn) newSetup(ctx context.Context, agent sdk.Agent, m *model.Model) (*ask.Setup, error) {
	session := t.c.SessionCopy()
	s := &ask.Setup{
		Set: t.g, Project: t.h.opts.Project, Version: t.h.opts.Version, SessionID: session.ID, ParentID: session.ParentID, Agent: agent, Model: m,
		Purpose: sdk.PurposeTurn, Bare: new(atomic.Int64),
	}
	if session.ParentID != "" {
		s.Purpose = sdk.PurposeSubtask
	}
	var err error
	s.Rules, s.AgentPath, err = t.g.Rules(ctx, t.h.Session, &agent, session, false)
	return s, err
}

// readdress applies what a hook changed in the agent or the model of the message.
func (t *turn) readdress(ctx context.Context, before, after *sdk.UserMessage) error {
	agent, m := t.Agent, t.Model
	var err error
	if after.Agent != before.Agent {
		if agent, err = t.g.Agent(after.Agent); err != nil {
			return fmt.Errorf("hook at chat.message: %w", err)
		}
	}
	if after.Model.ProviderID != before.Model.ProviderID || after.Model.ModelID != before.Model.ModelID {
		if m, err = ask.OpenModel(ctx, t.g, &agent, after.Model.String(), false, ""); err != nil {
			return err
		}
	}
	if agent.Name != t.Agent.Name || m != t.Model {
		t.Setup, err = t.newSetup(ctx, agent, m)
	}
	return err
}

// owned makes the parts the user message's.
func (t *turn) owned(parts sdk.Parts) []sdk.Part {
	for _, p := range parts {
		*p.Head() = t.c.NewPart(t.user)
	}
	return parts
}

// resolveParts builds the parts of the prompt, those of a command through command.execute.before.
func (t *turn) resolveParts(ctx context.Context, in *PromptInput, command *input.Command, u *sdk.UserMessage, ledger *hooks.Ledger) (sdk.Parts, error) {
	var entries []hooks.Entry
	r := &input.Resolver{
		Project: t.Project, Log: t.h.log, Set: t.g, Rules: t.Rules, Author: t.h.author,
		Shell: func(ctx context.Context, c *input.Command) (func(context.Context, string) (*sdk.ToolResult, error), error) {
			return t.templateShell(ctx, c, u, ledger, &entries)
		},
	}
	parts, err := r.Parts(ctx, in.Text, command, in.Parts)
	ask.StoreEntries(t.c, t.g, u.ID, t.Purpose, entries)
	if err != nil || command == nil || command.IsShellLine() {
		return parts, err
	}
	if t.delegate != "" {
		parts = command.Subtask(t.delegate, parts, t.rendered)
	}
	v := &sdk.CommandValue{Parts: parts}
	ci := &sdk.CommandInput{Command: command.Name, SessionID: u.SessionID, Arguments: in.Text}
	if err := t.g.Fire(ctx, sdk.PointCommand, ledger, "", ci, v); err != nil {
		return nil, err
	}
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventCommandExecuted, Properties: &sdk.CommandInfo{
		Name: command.Name, SessionID: u.SessionID, Arguments: ci.Arguments, MessageID: u.ID,
	}})
	return v.Parts, nil
}
