package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/tasks"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

// defaultSubagentDepth is how deep subagents may nest when the configuration does not say.
const defaultSubagentDepth = 1

// subtask runs a subagent in a session of its own and waits for its answer. When ctx ends, so does the
// subagent's turn.
func (t *turn) subtask(ctx context.Context, host *callHost, s sdk.Subtask) (*sdk.SubtaskResult, error) {
	agent, err := t.subagent(host, s.Agent)
	if err != nil {
		return nil, err
	}
	child, err := t.childSession(ctx, &agent, s)
	if err != nil {
		return nil, err
	}
	host.Progress(s.Description, sdk.Object{"sessionId": child.ID, "agent": agent.Name})
	in := PromptInput{SessionID: child.ID, Agent: agent.Name, Tools: t.user.Tools}
	if host.c.byUser && !t.rendered {
		in.Text = s.Prompt
	} else { // files of its own choice a model reads through tools, which ask
		in.Parts = sdk.Parts{&sdk.TextPart{Text: s.Prompt}}
	}
	if agent.Model == nil {
		in.Model, in.Variant = t.Model.Ref().String(), t.user.Model.Variant
	}
	m, err := t.promptChild(ctx, in)
	if err != nil {
		if refusal, ok := errors.AsType[*sdk.Refusal](err); ok && refusal.Halt {
			return nil, refusal // the user stopped the subagent, and with it the turn
		}
		return nil, fmt.Errorf("subagent %s (task_id %s): %w", agent.Name, child.ID, err)
	}
	return &sdk.SubtaskResult{SessionID: child.ID, Text: live.AnswerText(m.Parts)}, nil
}

// subagent finds the agent. The model may ask for subagents alone, a user's command for any agent.
func (t *turn) subagent(host *callHost, name string) (sdk.Agent, error) {
	if host.c.byUser {
		return t.g.Agent(name)
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
func (t *turn) childSession(ctx context.Context, agent *sdk.Agent, s sdk.Subtask) (*sdk.Session, error) {
	if s.Resume != "" {
		child, err := t.h.Session(ctx, s.Resume)
		if err != nil {
			return nil, err
		}
		if child.ParentID != t.r.session {
			return nil, fmt.Errorf("session %q is not a subtask of this session", s.Resume)
		}
		return child, nil
	}
	limit := defaultSubagentDepth
	if d := t.g.Config.SubagentDepth; d != nil {
		limit = *d
	}
	if depth := strings.Count(t.AgentPath, "/"); depth >= limit {
		return nil, fmt.Errorf("subagents may nest %d deep (subagent_depth in tenon.json): do this work here", limit)
	}
	return t.h.CreateSession(ctx, NewSession{
		Title: fmt.Sprintf("%s (@%s subagent)", s.Description, agent.Name), ParentID: t.r.session, Agent: agent.Name,
		Permission: tasks.ChildPermission(agent),
	})
}

// promptChild prompts the session and, when ctx ends first, aborts its turn and waits for that.
func (t *turn) promptChild(ctx context.Context, in PromptInput) (*sdk.MessageWithParts, error) {
	q, err := t.h.submit(context.WithoutCancel(ctx), in, t.g)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { t.h.Abort(in.SessionID) })
	defer stop()
	r := <-q.result // the runner always answers
	return r.message, r.err
}

// startSubtasks opens a step that runs the subtasks of the prompt through the task tool, and reports
// whether there are any.
func (t *turn) startSubtasks(ctx context.Context) (bool, error) {
	list := tasks.Calls(t.c.Parts(t.user.ID))
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
			PartHead: t.c.NewPart(t.msg), CallID: t.c.IDs.New("call"), Tool: tasks.TaskTool,
			State: sdk.ToolState{Status: sdk.ToolPending, Input: args, Raw: string(args)},
		}
		t.c.AddPart(p)
		t.calls = append(t.calls, &call{part: p, raw: args, byUser: true})
	}
	t.c.Locked(func() { t.msg.Finish = sdk.FinishToolCalls })
	return true, nil
}
