package interact

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

//go:embed task.md
var taskDescription string

//go:embed task.json
var taskParameters []byte

// task runs a subagent.
type task struct{}

var _ sdk.ToolPreparer = task{}

type taskArgs struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Agent       string `json:"subagent_type"`
	Resume      string `json:"task_id"`
	Command     string `json:"command"`
}

// Definition describes the tool. It lists the built-in agents; for an unknown agent the answer lists all.
func (task) Definition() sdk.ToolDefinition {
	return definition("task", taskDescription, taskParameters)
}

// Prepare requests the permission task with the agent.
func (task) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var args taskArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
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

// Execute runs the subagent and waits for its answer.
func (task) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args taskArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	tasker, ok := call.Host.(sdk.Subtasker)
	if !ok {
		return nil, missing("task", "sdk.Subtasker")
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
