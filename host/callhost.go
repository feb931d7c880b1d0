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
	t *turn
	c *call
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
)

// Progress shows what the call does now. It goes to clients only: the result will be stored.
func (h *callHost) Progress(title string, metadata sdk.Object) {
	var p sdk.Part
	h.t.c.Locked(func() {
		s := &h.c.part.State
		if s.Status != sdk.ToolRunning {
			return // a call that was given up
		}
		s.Title, s.Metadata = title, metadata
		p = live.CopyPart(h.c.part)
	})
	if p == nil {
		return
	}
	if h.c.byPlugin != nil {
		h.t.publishPluginCall(h.c)
		return
	}
	h.t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventPartUpdated, Properties: &sdk.PartInfo{
		SessionID: p.Head().SessionID, Part: p, Time: live.Now(),
	}})
}

// Ask waits for leave.
func (h *callHost) Ask(ctx context.Context, r sdk.PermissionRequest) error {
	r.SessionID = h.t.r.session
	r.Agent = h.t.Agent.Name
	r.Args = h.c.args
	r.Tool = &sdk.CallRef{MessageID: h.c.part.MessageID, CallID: h.c.part.CallID}
	plugin := ""
	if h.c.byPlugin != nil {
		plugin = h.c.byPlugin.Manifest.Name
	}
	r.Metadata = permission.AskedBy(r.Metadata, h.c.template, plugin)
	if h.c.tool == nil { // an unknown tool that is called over and over
		return h.t.permit(ctx, r, h.c.part.Tool, sdk.Origin{})
	}
	return h.t.permit(ctx, r, h.c.tool.Def.ID, h.c.tool.Origin)
}

// Messages returns the messages of the session since the last compaction.
func (h *callHost) Messages(context.Context) ([]sdk.MessageWithParts, error) {
	return h.t.c.Snapshot(), nil
}

// Output returns a stored output by the last element of its path.
func (h *callHost) Output(ctx context.Context, ref string) ([]byte, error) {
	ref = strings.TrimPrefix(ref, store.OutputPrefix)
	// The output may still be on its way to the store.
	if err := h.t.c.Journal.Flush(ctx); err != nil {
		return nil, err
	}
	content, err := h.t.h.opts.Store.Blob(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("stored output %q: %w", ref, err)
	}
	return content, nil
}

// ShellEnv returns the environment of a command: the user's, without the keys of providers, and what the
// hooks at shell.env add.
func (h *callHost) ShellEnv(ctx context.Context, cwd string) ([]string, error) {
	v := &sdk.ShellEnvValue{Env: map[string]string{}}
	in := &sdk.ShellEnvInput{Cwd: cwd, SessionID: h.t.r.session, CallID: h.c.part.CallID}
	if err := h.t.g.Fire(ctx, sdk.PointShellEnv, h.t.ledger, h.c.part.CallID, in, v); err != nil {
		return nil, h.t.stopBy(err)
	}
	return h.t.g.Models.Environ(v.Env), nil
}

// Question asks the user.
func (h *callHost) Question(ctx context.Context, questions []sdk.Question) ([][]string, error) {
	return h.t.question(ctx, sdk.QuestionRequest{
		SessionID: h.t.r.session, Questions: questions,
		Tool: &sdk.CallRef{MessageID: h.c.part.MessageID, CallID: h.c.part.CallID},
	})
}

// SetTodos replaces the task list of the session.
func (h *callHost) SetTodos(_ context.Context, todos []sdk.Todo) error {
	todos = slices.Clone(todos)
	h.t.c.Journal.Put([]store.Op{store.PutTodos{Todos: todos}}, sdk.Event{
		Type: sdk.EventTodoUpdated, Properties: &sdk.TodoInfo{SessionID: h.t.r.session, Todos: todos},
	})
	return nil
}

// Subtask runs a subagent.
func (h *callHost) Subtask(ctx context.Context, s sdk.Subtask) (*sdk.SubtaskResult, error) {
	return h.t.subtask(ctx, h, s)
}

// Subagents lists the agents that can be asked.
func (h *callHost) Subagents() []sdk.Agent { return h.t.g.Subagents() }

// Skills lists the skills of all plugins that the rules do not deny.
func (h *callHost) Skills(ctx context.Context) ([]sdk.Skill, error) {
	list := h.t.g.SkillsUnless(ctx, func(name string) bool {
		return h.t.Rules.Decide(permissionSkill, name).Action == sdk.ActionDeny
	})
	return list, ctx.Err()
}
