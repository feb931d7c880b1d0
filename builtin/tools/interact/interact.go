// Package interact is the plugin with the tools that use only the host's abilities:
// todowrite, task, skill and question.
package interact

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// texts describe the tools; see tool.Spec.
//
//go:embed *.json question.md skill.md task.md todowrite.md
var texts embed.FS

// New returns the plugin, which has no state.
func New() sdk.Plugin {
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "interact", Description: "task list, subagents, skills and questions to the user", Carrier: sdk.CarrierBuiltin},
		ToolList: []sdk.Tool{
			tool.Spec[todoArgs]{ID: "todowrite", Texts: texts, Run: storeTodos}.Tool(),
			tool.Spec[taskArgs]{ID: "task", Texts: texts, Prepare: prepareTask, Run: runTask}.Tool(),
			tool.Spec[skillArgs]{ID: "skill", Texts: texts, Prepare: prepareSkill, Run: loadSkill}.Tool(),
			tool.Spec[questionArgs]{ID: "question", Texts: texts, Run: askUser}.Tool(),
		},
	}
}

// ability returns the host as an optional interface of sdk.ToolHost. name is the interface's, for the error.
func ability[T any](call *sdk.ToolCall, name string) (T, error) {
	host, ok := call.Host.(T)
	if !ok {
		return host, fmt.Errorf("%s: not supported by this host (%s)", call.Tool, name)
	}
	return host, nil
}

type todoArgs struct {
	Todos []sdk.Todo `json:"todos"`
}

// storeTodos replaces the task list of the session. The model knows the list: its call contains it.
func storeTodos(ctx context.Context, call *sdk.ToolCall, args todoArgs) (*sdk.ToolResult, error) {
	keeper, err := ability[sdk.TodoKeeper](call, "sdk.TodoKeeper")
	if err != nil {
		return nil, err
	}
	open := 0
	for i := range args.Todos {
		args.Todos[i].Priority = cmp.Or(args.Todos[i].Priority, "medium")
		if status := args.Todos[i].Status; status != "completed" && status != "cancelled" {
			open++
		}
	}
	if err := keeper.SetTodos(ctx, args.Todos); err != nil {
		return nil, fmt.Errorf("todowrite: %w", err)
	}
	return &sdk.ToolResult{
		Title:    fmt.Sprintf("%d open", open),
		Output:   fmt.Sprintf("%d open, %d in all", open, len(args.Todos)),
		Metadata: sdk.Object{"todos": args.Todos},
	}, nil
}

type questionArgs struct {
	Questions []sdk.Question `json:"questions"`
}

// askUser asks the user and waits for the answers.
func askUser(ctx context.Context, call *sdk.ToolCall, args questionArgs) (*sdk.ToolResult, error) {
	asker, err := ability[sdk.Questioner](call, "sdk.Questioner")
	if err != nil {
		return nil, err
	}
	answers, err := asker.Question(ctx, args.Questions)
	if errors.Is(err, sdk.ErrHeadless) {
		return nil, fmt.Errorf("question: %w: the run is not interactive. Decide yourself: choose the safest option, and state your assumptions in your answer", err)
	}
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	var out strings.Builder
	for i, q := range args.Questions {
		answer := "not answered"
		if i < len(answers) && len(answers[i]) > 0 {
			answer = strings.Join(answers[i], ", ")
		}
		fmt.Fprintf(&out, "%s\n-> %s\n", q.Question, answer)
	}
	return &sdk.ToolResult{
		Title:    fmt.Sprintf("%d answered", len(answers)),
		Output:   "The user answered:\n" + strings.TrimSpace(out.String()),
		Metadata: sdk.Object{"answers": answers},
	}, nil
}

type taskArgs struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Agent       string `json:"subagent_type"`
	Resume      string `json:"task_id"`
	Command     string `json:"command"`
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

// runTask runs a subagent and waits for its answer. The host adds the subagents to the tool's description; for an unknown agent the answer lists all.
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
		Title: args.Description,
		Output: fmt.Sprintf("<task id=%q state=\"completed\">\n%s\n</task>", result.SessionID,
			cmp.Or(strings.TrimSpace(result.Text), "The subagent ended without an answer. Call task again with this id as task_id, or do the work yourself.")),
		Metadata: sdk.Object{"sessionId": result.SessionID, "agent": args.Agent},
	}, nil
}
