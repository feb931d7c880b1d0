package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/tasks"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

// defaultSubagentDepth is how deep subagents may nest unless configured.
const defaultSubagentDepth = 1

// subtask runs a subagent in its own session and waits for its answer. When ctx ends, so does the
// subagent's turn.
func (s *step) subtask(ctx context.Context, host *callHost, task sdk.Subtask) (*sdk.SubtaskResult, error) {
	agent, err := s.subagent(host, task.Agent)
	if err != nil {
		return nil, err
	}
	child, err := s.childSession(ctx, &agent, task)
	if err != nil {
		return nil, err
	}
	host.Progress(task.Description, sdk.Object{"sessionId": child.ID, "agent": agent.Name})
	in := PromptInput{SessionID: child.ID, Agent: agent.Name, Tools: s.user.Tools}
	if host.call.byUser && task.Prompt == s.typed {
		in.Text = task.Prompt
	} else { // mentions are not resolved: models read files through tools, which request permission, and plugins through abilities
		in.Parts = sdk.Parts{&sdk.TextPart{Text: task.Prompt}}
	}
	if agent.Model == nil {
		in.Model, in.Variant = s.Model.Ref().String(), s.user.Model.Variant
	}
	m, err := s.promptChild(ctx, in)
	if err != nil {
		if refusal, ok := errors.AsType[*sdk.Refusal](err); ok && refusal.Halt {
			return nil, refusal // the user stopped the subagent, and with it the turn; by whom stays known
		}
		return nil, fmt.Errorf("subagent %s (task_id %s): %w", agent.Name, child.ID, err)
	}
	return &sdk.SubtaskResult{SessionID: child.ID, Text: live.AnswerText(m.Parts)}, nil
}

// subagent finds the agent. The model may use only subagents; a user's command may use any agent.
func (s *step) subagent(host *callHost, name string) (sdk.Agent, error) {
	if host.call.byUser {
		return s.gen.Agent(name)
	}
	var names []string
	for _, a := range host.Subagents() {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return sdk.Agent{}, fmt.Errorf("subagent %q not found; the subagents are: %s", name, strings.Join(names, ", "))
}

// childSession returns the session the subagent works in: the one to resume, or a new one below this one.
func (s *step) childSession(ctx context.Context, agent *sdk.Agent, task sdk.Subtask) (*sdk.Session, error) {
	if task.Resume != "" {
		child, err := s.host.Session(ctx, task.Resume)
		if err == nil && child.ParentID != s.runner.session {
			err = fmt.Errorf("session %q is not a subtask of this session", task.Resume)
		}
		if err != nil {
			return nil, fmt.Errorf("%w; omit task_id to start another subtask", err)
		}
		return child, nil
	}
	limit := *cmp.Or(s.gen.Config.SubagentDepth, new(defaultSubagentDepth))
	if depth := strings.Count(s.AgentPath, "/"); depth >= limit {
		return nil, fmt.Errorf("subagents can be nested at most %d deep (subagent_depth in tenon.json): do this work here", limit)
	}
	return s.host.CreateSession(ctx, NewSession{
		Title: fmt.Sprintf("%s (@%s subagent)", task.Description, agent.Name), ParentID: s.runner.session, Agent: agent.Name,
		Permission: tasks.ChildPermission(slices.Concat(agent.Permission, s.gen.Config.Permission, s.gen.Config.Agent[agent.Name].Permission)),
	})
}

// promptChild prompts the session and waits for the answer. If ctx ends first, it aborts the turn and waits for its end.
func (s *step) promptChild(ctx context.Context, in PromptInput) (*sdk.MessageWithParts, error) {
	q, err := s.host.submit(context.WithoutCancel(ctx), in, s.gen)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.host.Abort(in.SessionID) })
	defer stop()
	return q.wait(context.WithoutCancel(ctx)) // the runner always answers
}

// startSubtasks opens a step that runs the subtasks of the prompt through the task tool, and reports
// whether there are any.
func (t *turn) startSubtasks(ctx context.Context) (bool, error) {
	list := tasks.Calls(t.conv.Parts(t.user.ID))
	if len(list) == 0 {
		return false, nil
	}
	t.openStep()
	var err error
	if t.tools, err = tools.New(ctx, t.toolScope(), nil); err != nil {
		return false, err
	}
	for _, args := range list {
		p := &sdk.ToolPart{
			PartHead: t.conv.NewPart(t.msg), CallID: t.conv.IDs.New("call"), Tool: tasks.TaskTool,
			State: sdk.ToolState{Status: sdk.ToolPending, Input: args, Raw: string(args)},
		}
		t.conv.AddPart(p)
		t.calls = append(t.calls, &call{part: p, raw: args, byUser: true})
	}
	t.conv.Locked(func() { t.msg.Finish = sdk.FinishToolCalls })
	return true, nil
}
