package interact

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

//go:embed todowrite.md
var todoDescription string

//go:embed todowrite.json
var todoParameters []byte

// todowrite replaces the task list of the session.
type todowrite struct{}

// Definition describes the tool.
func (todowrite) Definition() sdk.ToolDefinition {
	return definition("todowrite", todoDescription, todoParameters)
}

// Execute stores the list and returns it, so that the conversation contains it.
func (todowrite) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct {
		Todos []sdk.Todo `json:"todos"`
	}
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	keeper, ok := call.Host.(sdk.TodoKeeper)
	if !ok {
		return nil, missing("todowrite", "sdk.TodoKeeper")
	}
	open := 0
	for i := range args.Todos {
		if args.Todos[i].Priority == "" {
			args.Todos[i].Priority = "medium"
		}
		if status := args.Todos[i].Status; status != "completed" && status != "cancelled" {
			open++
		}
	}
	if args.Todos == nil {
		args.Todos = []sdk.Todo{}
	}
	if err := keeper.SetTodos(ctx, args.Todos); err != nil {
		return nil, fmt.Errorf("todowrite: %w", err)
	}
	list, err := json.Marshal(args.Todos)
	if err != nil {
		return nil, fmt.Errorf("todowrite: %w", err)
	}
	return &sdk.ToolResult{
		Title:    fmt.Sprintf("%d open", open),
		Output:   string(list),
		Metadata: sdk.Object{"todos": objects(args.Todos)},
	}, nil
}

// objects returns the list for metadata.
func objects(todos []sdk.Todo) []any {
	out := make([]any, len(todos))
	for i, t := range todos {
		out[i] = map[string]any{"content": t.Content, "status": t.Status, "priority": t.Priority}
	}
	return out
}
