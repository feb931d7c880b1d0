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

// prompt is the latest prompt of a turn, and the progress of the work on it.
type prompt struct {
	*ask.Setup // nil before the first prompt

	user     *sdk.UserMessage
	delegate string // the subagent that gets a command's prompt
	typed    string // the prompt of the subtask if the user wrote all of it: no mentions in others are resolved
	manual   bool   // it is a compaction that the user requested
	// summaryModel is the model that the user named for a compaction; empty: the default.
	summaryModel string

	steps       int // number of steps, including the current one
	continued   int // how often hooks continued the turn
	corrections int // reminders to give structured output
	doom        tools.Doom
}

// prepare takes the next prompt or job from the queue. A prompt becomes a user message. If it fails while the turn answers an earlier one,
// only its caller gets the error. The turn then continues the earlier one, as it does after a prompt without a reply.
func (t *turn) prepare(ctx context.Context) (state, error) {
	q := t.runner.next()
	running, answered, was := t.user != nil, t.answered(), t.prompt
	t.answering = append(t.answering, q)
	if !running {
		ask.Status(t.conv, sdk.SessionStatus{Type: sdk.StatusBusy})
		t.conv.Journal.Put([]store.Op{store.SetTurn{Open: true}})
	}
	accept := t.accept
	if q.job != nil {
		accept = func(ctx context.Context, _ *queued) (state, error) { return q.job(ctx, t) }
	}
	next, err := accept(ctx, q)
	failed := t.commitPrompt(ctx, q)
	switch {
	case !running:
		return next, cmp.Or(err, failed)
	case err == nil && failed == nil && next != stateDone:
		return next, nil
	}
	if t.msg != nil { // the step of the prompt's subtasks
		t.stepOf(t.msg).Close(live.InterruptedByFailure, t.turnError(cmp.Or(context.Cause(ctx), err, failed)).named())
		t.msg = nil
	}
	t.prompt = was // restores its agent, model and settings
	t.show(t.user)
	if err != nil && failed == nil && ctx.Err() == nil { // otherwise it ends with the turn
		t.answering = t.answering[:len(t.answering)-1]
		q.reply(nil, err)
	}
	switch {
	case t.manual: // nothing but the summary was requested
		return stateDone, nil
	case answered:
		return stateDecide, nil
	}
	return stateAsk, nil
}

// answered reports whether the model has nothing more to do for the latest prompt.
func (t *turn) answered() bool {
	return t.user != nil && t.last != nil && t.last.ParentID == t.user.ID && t.last.Error == nil &&
		(len(t.calls) == 0 || len(t.last.Structured) > 0)
}

// commitPrompt makes the changes of a prompt or job durable, and removes a refused prompt from the store's queue.
func (t *turn) commitPrompt(ctx context.Context, q *queued) error {
	t.conv.Journal.Put(q.take())
	err := t.conv.Journal.Flush(context.WithoutCancel(ctx))
	if err == nil {
		q.stored, q.kept = false, q.kept || q.job != nil
	}
	return err
}

// accept makes a prompt the turn's user message and returns the state after it.
func (t *turn) accept(ctx context.Context, q *queued) (state, error) {
	in := q.input
	command, err := input.Expand(ctx, t.gen, in.Command, in.Text, in.Shell)
	if err != nil {
		return stateDone, err
	}
	u, err := t.openPrompt(ctx, &in, command)
	if err != nil {
		return stateDone, err
	}
	t.typed = ""
	ledger := &hooks.Ledger{}
	parts, err := t.resolveParts(ctx, &in, command, u, ledger)
	v := &sdk.ChatMessageValue{Message: u, Parts: parts}
	if err == nil {
		hi := &sdk.ChatMessageInput{SessionID: u.SessionID, Agent: u.Agent, Model: u.Model, MessageID: u.ID}
		err = t.gen.Fire(ctx, sdk.PointChatMessage, ledger, "", hi, v)
	}
	if err == nil {
		v.Message.MessageHead, v.Message.Agent = u.MessageHead, u.Agent
		err = t.changeSetup(ctx, u, v.Message)
	}
	if err != nil {
		ask.StoreLedger(t.conv, t.gen, u.ID, t.Purpose, ledger) // includes the calls of a template
		return stateDone, err
	}
	t.user = v.Message
	t.manual = false                                                    // the turn now does more than summarize
	t.steps, t.continued, t.corrections, t.doom = 0, 0, 0, tools.Doom{} // each prompt has its own
	t.show(t.user)
	for _, p := range v.Parts {
		*p.Head() = t.conv.NewPart(t.user)
	}
	t.conv.Add(t.user, v.Parts, q.take()...)
	if err := t.conv.Journal.Flush(context.WithoutCancel(ctx)); err != nil { // before other changes, which may fail alone
		return stateDone, err
	}
	q.stored, q.kept = false, true
	ask.StoreLedger(t.conv, t.gen, u.ID, t.Purpose, ledger)
	itsAgent, itsModel := command.Chooses(q.input.Agent, q.input.Model)
	t.conv.UpdateSession(func(s *sdk.Session) {
		if !itsAgent {
			s.Agent = t.Agent.Name
		}
		if !itsModel {
			s.Model = &sdk.SessionModel{ID: t.Model.ID, ProviderID: t.Model.ProviderID, Variant: t.user.Model.Variant}
			if command.Variant != "" {
				s.Model.Variant = q.input.Variant
			}
		}
	})
	return t.firstState(ctx, in.NoReply)
}

// openPrompt begins a prompt: it makes the setup, removes the messages that were undone, and returns the user message. Its identifier
// is made now, because the prompt may have waited: undo compares it with those of the answers before.
func (t *turn) openPrompt(ctx context.Context, in *PromptInput, command *input.Command) (*sdk.UserMessage, error) {
	if err := t.chooseSetup(ctx, in, command); err != nil {
		return nil, err
	}
	t.CheckVariant(in.Variant, t.host.log)
	damaged, err := t.undo.Drop(ctx)
	t.host.sessions.ReportDamaged(damaged)
	if err != nil {
		return nil, err
	}
	u := &sdk.UserMessage{
		MessageHead: sdk.MessageHead{ID: t.conv.IDs.New(sdk.PrefixMessage), SessionID: t.runner.session}, Time: sdk.MessageTime{Created: live.Now()},
		Agent: t.Agent.Name, Model: sdk.ModelRef{ProviderID: t.Model.ProviderID, ModelID: t.Model.ID, Variant: in.Variant},
		Format: in.Format, System: in.System, Tools: in.Tools,
	}
	t.show(u)
	return u, nil
}

// chooseSetup makes the setup for a prompt: it chooses the agent, the model and the rules. The prompt gets the command's model and variant, unless it
// names others.
func (t *turn) chooseSetup(ctx context.Context, in *PromptInput, command *input.Command) error {
	s := t.conv.SessionCopy()
	agent, err := t.chooseAgent(s, in.Agent, command)
	if err != nil {
		return err
	}
	byCommand := in.Model == "" && command.Model != ""
	in.Model = cmp.Or(in.Model, command.Model)
	in.Variant = cmp.Or(in.Variant, command.Variant)
	byRepository := byCommand && t.gen.ChoosesCommandModel(&command.Command.Command)
	m, err := ask.OpenModel(ctx, t.gen, &agent, in.Model, byRepository, s.Model.String())
	if err != nil && byCommand {
		return fmt.Errorf("command %s names its model: %w", command.Label(), err)
	}
	if err != nil {
		return err
	}
	t.Setup, err = t.newSetup(ctx, agent, m)
	return err
}

// chooseAgent returns the agent of a prompt: the one that the prompt names, the command's, the session's, or the default. If the command delegates
// its prompt, the chosen agent is t.delegate, and the session's agent is returned.
func (t *turn) chooseAgent(s *sdk.Session, named string, command *input.Command) (sdk.Agent, error) {
	standard := cmp.Or(t.gen.Config.DefaultAgent, sdk.AgentBuild)
	usual := cmp.Or(s.Agent, standard)
	if a, err := t.gen.Agent(usual); err == nil && a.Mode == sdk.ModeSubagent && s.ParentID == "" {
		usual = standard // the session is a copy of a subagent's
	}
	chosen := cmp.Or(named, command.Agent)
	name := cmp.Or(chosen, usual)
	agent, err := t.gen.Agent(name)
	switch {
	case err != nil && name == command.Agent:
		return agent, fmt.Errorf("command %s names its agent: %w", command.Label(), err)
	case chosen == "" && name == t.gen.Config.DefaultAgent:
		if agent, err = t.gen.DefaultAgent(); err != nil {
			return agent, fmt.Errorf("default_agent in the configuration: %w", err)
		}
	}
	t.delegate = ""
	if err == nil && command.Delegates(&agent) {
		t.delegate, name = name, usual
		agent, err = t.gen.Agent(name)
	}
	switch itsAgent := named == "" && command.Agent != ""; {
	case err != nil && name == s.Agent && name != chosen: // the agent was removed, or the session was imported
		err = fmt.Errorf("the session's %w; choose another agent", err)
	case err == nil && agent.Mode == sdk.ModeSubagent && s.ParentID == "" && (!itsAgent || t.delegate != ""):
		err = fmt.Errorf("agent %q %w", agent.Name, ErrSubagent)
	}
	return agent, err
}

// newSetup returns the setup for an agent and a model, with the rules that hold in the session.
func (t *turn) newSetup(ctx context.Context, agent sdk.Agent, m *model.Model) (*ask.Setup, error) {
	session := t.conv.SessionCopy()
	purpose := sdk.PurposeTurn
	if session.ParentID != "" {
		purpose = sdk.PurposeSubtask
	}
	s := (&ask.Setup{
		Generation: t.gen, Project: t.host.opts.Project, Version: t.host.opts.Version, SessionID: session.ID, ParentID: session.ParentID,
		NoReasoning: new(atomic.Int64),
	}).As(agent, m, purpose)
	rules, path, err := t.gen.Rules(ctx, t.host.Session, &agent, session, false)
	s.Rules, s.AgentPath = rules, path
	if agent.Name == sdk.AgentPlan && agent.Strict && err == nil { // it lists what build does: a switch must not change a tool's definition
		agent.Permission, agent.Strict = nil, false
		rules, _, err = t.gen.Rules(ctx, t.host.Session, &agent, session, false)
	}
	if err == nil {
		s.Subagents = tools.Subagents(t.gen.Subagents(), rules)
	}
	return s, err
}

// resolveParts builds the parts of the prompt. Parts of a command pass the hooks at command.execute.before.
func (t *turn) resolveParts(ctx context.Context, in *PromptInput, command *input.Command, u *sdk.UserMessage, ledger *hooks.Ledger) (sdk.Parts, error) {
	r := &input.Resolver{
		Project: t.Project, Log: t.host.log, Generation: t.gen, Rules: t.Rules, Author: t.host.templateAuthor,
		Shell: func(ctx context.Context, c *input.Command) (func(context.Context, string) (*sdk.ToolResult, error), error) {
			return t.templateShell(ctx, c, u, ledger)
		},
	}
	parts, err := r.Parts(ctx, in.Text, command, in.Parts)
	if err != nil || command.Name == "" {
		return parts, err
	}
	if t.delegate != "" {
		byOthers := command.ByOthers(t.host.templateAuthor(command))
		task := command.Subtask(t.delegate, parts, byOthers)
		if parts = (sdk.Parts{task}); !byOthers {
			t.typed = task.Prompt
		}
	}
	v := &sdk.CommandValue{Parts: parts}
	ci := &sdk.CommandInput{Command: command.Name, SessionID: u.SessionID, Arguments: in.Text}
	if err := t.gen.Fire(ctx, sdk.PointCommand, ledger, "", ci, v); err != nil {
		return nil, err
	}
	t.publish(sdk.Event{Type: sdk.EventCommandExecuted, Properties: &sdk.CommandInfo{
		Name: command.Name, SessionID: u.SessionID, Arguments: ci.Arguments, MessageID: u.ID,
	}})
	return v.Parts, nil
}

// changeSetup makes a new setup if a hook changed the model of the message. Hooks may not change its agent.
func (t *turn) changeSetup(ctx context.Context, before, after *sdk.UserMessage) error {
	if after.Model.ProviderID == before.Model.ProviderID && after.Model.ModelID == before.Model.ModelID {
		return nil
	}
	m, err := ask.OpenModel(ctx, t.gen, &t.Agent, after.Model.String(), false, "")
	if err == nil {
		t.Setup, err = t.newSetup(ctx, t.Agent, m)
	}
	return err
}

// firstState returns the state after a stored prompt. It starts the prompt's subtasks, if any.
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
	case t.overflows(compact.NextTokens(t.conv.Snapshot())):
		return stateCompact, nil
	}
	return stateAsk, nil
}
