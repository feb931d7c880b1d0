package interact

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

type todoArgs struct {
	Todos []sdk.Todo `json:"todos"`
}

// todowrite replaces the task list of the session.
func todowrite() sdk.Tool {
	return tool.Spec[todoArgs]{ID: "todowrite", Texts: texts, Run: storeTodos}.Tool()
}

// storeTodos stores the list and returns it, so that the conversation contains it.
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
	list, err := json.Marshal(args.Todos)
	if err != nil {
		return nil, fmt.Errorf("todowrite: %w", err)
	}
	return &sdk.ToolResult{
		Title:    fmt.Sprintf("%d open", open),
		Output:   string(list),
		Metadata: sdk.Object{"todos": args.Todos},
	}, nil
}
