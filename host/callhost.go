package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// permissionSkill is the permission key of loading a skill, with its name.
const permissionSkill = "skill"

// callHost is the host as one tool call sees it.
type callHost struct {
	step *step
	call *call
}

var (
	_ sdk.ToolHost      = (*callHost)(nil)
	_ sdk.MessageReader = (*callHost)(nil)
	_ sdk.OutputReader  = (*callHost)(nil)
	_ sdk.Shell         = (*callHost)(nil)
	_ sdk.Questioner    = (*callHost)(nil)
	_ sdk.TodoKeeper    = (*callHost)(nil)
	_ sdk.Subtasker     = (*callHost)(nil)
	_ sdk.SkillFinder   = (*callHost)(nil)
	_ sdk.Denier        = (*callHost)(nil)
)

// Progress publishes the state of the call. It is not stored: the result will be.
func (h *callHost) Progress(title string, metadata sdk.Object) {
	var p sdk.Part
	h.step.conv.Locked(func() {
		s := &h.call.part.State
		if s.Status != sdk.ToolRunning {
			return // the call was abandoned
		}
		s.Title, s.Metadata = title, metadata
		p = live.CopyPart(h.call.part)
	})
	if p == nil {
		return
	}
	if h.call.byPlugin != nil {
		h.step.publishPluginCall(h.call)
		return
	}
	h.step.publish(live.PartUpdated(p))
}

// Ask requests permission for the tool.
func (h *callHost) Ask(ctx context.Context, r sdk.PermissionRequest) error {
	if err := permission.Foreign(&r, h.call.tool.Origin); err != nil {
		return err
	}
	return h.ask(ctx, r)
}

// ask requests permission for the call.
func (h *callHost) ask(ctx context.Context, r sdk.PermissionRequest) error {
	r.SessionID = h.step.runner.session
	r.Agent = h.step.Agent.Name
	r.Args = h.call.args
	r.Tool = &sdk.CallRef{MessageID: h.call.part.MessageID, CallID: h.call.part.CallID, ID: h.call.part.Tool}
	r.Metadata = permission.AskedBy(r.Metadata, h.call.template, h.call.byPlugin.Name())
	if t := h.call.tool; t != nil { // else it is a repeated call of an unknown tool
		r.Tool.ID, r.Tool.Origin = t.Def.ID, t.Origin
	}
	return h.step.permit(ctx, r, r.Tool.ID, r.Tool.Origin)
}

// DeniesByName implements sdk.Denier.
func (h *callHost) DeniesByName(key, pattern string) bool {
	return h.step.Rules.DeniesByName(key, pattern)
}

// Messages returns the messages of the session since the last compaction.
func (h *callHost) Messages(context.Context) ([]sdk.MessageWithParts, error) {
	return h.step.conv.Snapshot(), nil
}

// Output returns a stored output by the last element of its path.
func (h *callHost) Output(ctx context.Context, ref string) ([]byte, error) {
	ref = strings.TrimPrefix(ref, store.OutputPrefix)
	// The output may still be on its way to the store.
	if err := h.step.conv.Journal.Flush(ctx); err != nil {
		return nil, err
	}
	content, err := h.step.host.opts.Store.Blob(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("stored output %q: %w", ref, err)
	}
	return content, nil
}

// ShellEnv returns the environment of a command: the user's variables without the keys of providers, and the variables of hooks at
// shell.env.
func (h *callHost) ShellEnv(ctx context.Context, cwd string) ([]string, error) {
	v := &sdk.ShellEnvValue{Env: map[string]string{}}
	in := &sdk.ShellEnvInput{Cwd: cwd, SessionID: h.step.runner.session, CallID: h.call.part.CallID}
	if err := h.step.gen.Fire(ctx, sdk.PointShellEnv, h.step.ledger, h.call.part.CallID, in, v); err != nil {
		return nil, h.step.halt(err)
	}
	return h.step.gen.Models.Environ(v.Env), nil
}

// Question asks the user.
func (h *callHost) Question(ctx context.Context, questions []sdk.Question) ([][]string, error) {
	return h.step.question(ctx, sdk.QuestionRequest{
		SessionID: h.step.runner.session, Questions: questions,
		Tool: &sdk.CallRef{MessageID: h.call.part.MessageID, CallID: h.call.part.CallID},
	})
}

// SetTodos replaces the task list of the session.
func (h *callHost) SetTodos(_ context.Context, todos []sdk.Todo) error {
	todos = slices.Clone(todos)
	h.step.conv.Journal.Put([]store.Op{store.PutTodos{Todos: todos}}, sdk.Event{
		Type: sdk.EventTodoUpdated, Properties: &sdk.TodoInfo{SessionID: h.step.runner.session, Todos: todos},
	})
	return nil
}

// Subtask runs a subagent.
func (h *callHost) Subtask(ctx context.Context, s sdk.Subtask) (*sdk.SubtaskResult, error) {
	return h.step.subtask(ctx, h, s)
}

// Subagents lists the agents that subtasks can use.
func (h *callHost) Subagents() []sdk.Agent { return h.step.gen.Subagents() }

// Skills lists the skills of all plugins that the rules do not deny.
func (h *callHost) Skills(ctx context.Context) ([]sdk.Skill, error) {
	list := []sdk.Skill{}
	for _, s := range h.step.gen.Skills(ctx) {
		if h.step.Rules.Decide(permissionSkill, s.Name).Action != sdk.ActionDeny {
			list = append(list, s.Skill)
		}
	}
	return list, ctx.Err()
}
