package interact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

type taskArgs struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Agent       string `json:"subagent_type"`
	Resume      string `json:"task_id"`
	Command     string `json:"command"`
}

// task runs a subagent. Its description lists the built-in agents; for an unknown agent the answer lists all.
func task() sdk.Tool {
	return tool.Spec[taskArgs]{
		ID: "task", Texts: texts, Prepare: prepareTask, Run: runTask,
	}.Tool()
}

// prepareTask requests the permission task with the agent.
func prepareTask(_ context.Context, _ *sdk.ToolCall, args taskArgs) ([]sdk.PermissionRequest, error) {
	switch {
	case strings.TrimSpace(args.Prompt) == "":
		return nil, errors.New("task: prompt is empty")
	case args.Agent == "":
		return nil, errors.New("task: subagent_type is empty")
	}
	return []sdk.PermissionRequest{{
		Permission: "task",
		Patterns:   []string{args.Agent},
		Always:     []string{"*"},
		Metadata:   sdk.Object{"description": args.Description, "subagent_type": args.Agent},
	}}, nil
}

// runTask runs the subagent and waits for its answer.
func runTask(ctx context.Context, call *sdk.ToolCall, args taskArgs) (*sdk.ToolResult, error) {
	tasker, err := ability[sdk.Subtasker](call, "sdk.Subtasker")
	if err != nil {
		return nil, err
	}
	result, err := tasker.Subtask(ctx, sdk.Subtask{
		Agent: args.Agent, Description: args.Description, Prompt: args.Prompt, Command: args.Command, Resume: args.Resume,
	})
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return &sdk.ToolResult{
		Title:    args.Description,
		Output:   fmt.Sprintf("<task id=%q state=\"completed\">\n%s\n</task>", result.SessionID, result.Text),
		Metadata: sdk.Object{"sessionId": result.SessionID, "agent": args.Agent},
	}, nil
}
