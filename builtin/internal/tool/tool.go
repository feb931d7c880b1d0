// Package tool builds tools from functions, for the built-in plugins.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Spec describes a tool whose arguments are decoded into a T.
type Spec[T any] struct {
	ID string
	// Texts contains the files ID.md, the description for the model, and ID.json, the JSON schema of the arguments.
	Texts fs.FS
	// Read decodes and checks the arguments, before Prepare and again before Run. If nil, Args.
	Read func(call *sdk.ToolCall) (T, error)
	// Prepare returns the permissions that the call requires; see sdk.ToolPreparer. If nil, the tool requires its ID with the pattern *.
	Prepare func(ctx context.Context, call *sdk.ToolCall, in T) ([]sdk.PermissionRequest, error)
	Run     func(ctx context.Context, call *sdk.ToolCall, in T) (*sdk.ToolResult, error)
}

// Resolver is implemented by arguments that check and complete themselves after they were decoded.
type Resolver interface {
	Resolve(call *sdk.ToolCall) error
}

// Args decodes and resolves the arguments of a call.
func Args[T any](call *sdk.ToolCall) (args T, err error) {
	if err = value.Decode(call.Args, &args); err != nil {
		return args, fmt.Errorf("arguments of %s: %w", call.Tool, err)
	}
	if r, ok := any(&args).(Resolver); ok {
		err = r.Resolve(call)
	}
	return args, err
}

// Prepared is a tool that lists the permissions of a call.
type Prepared interface {
	sdk.Tool
	sdk.ToolPreparer
}

// Tool returns the tool. It is a Prepared if it lists its permissions.
func (s Spec[T]) Tool() sdk.Tool {
	if s.Read == nil {
		s.Read = Args[T]
	}
	text := func(extension string) string {
		data, _ := fs.ReadFile(s.Texts, s.ID+extension) // embedded
		return strings.TrimSpace(string(data))
	}
	t := simple[T]{s, sdk.ToolDefinition{ID: s.ID, Description: text(".md"), Parameters: json.RawMessage(text(".json"))}}
	if s.Prepare == nil {
		return t
	}
	return prepared[T]{t}
}

type simple[T any] struct {
	spec       Spec[T]
	definition sdk.ToolDefinition
}

// Definition describes the tool.
func (t simple[T]) Definition() sdk.ToolDefinition { return t.definition }

// Execute reads the arguments and runs the call.
func (t simple[T]) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	in, err := t.spec.Read(call)
	if err != nil {
		return nil, err
	}
	return t.spec.Run(ctx, call, in)
}

type prepared[T any] struct{ simple[T] }

// Prepare reads the arguments and returns the permissions.
func (t prepared[T]) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	in, err := t.spec.Read(call)
	if err != nil {
		return nil, err
	}
	return t.spec.Prepare(ctx, call, in)
}
