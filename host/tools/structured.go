package tools

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/sdk"
)

// structuredOutput is the tool through which the model gives an answer that meets the prompt's schema. The
// schema check of every call does the work.
type structuredOutput struct {
	schema json.RawMessage
	accept func(answer json.RawMessage)
}

// Definition returns the prompt's schema as the tool's parameters.
func (s *structuredOutput) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID: Structured, Parameters: s.schema,
		Description: "Give the final answer through this tool, exactly once, when all the work is done. Its arguments are the answer.",
	}
}

// Prepare requests nothing: an answer requires no permission.
func (s *structuredOutput) Prepare(context.Context, *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return nil, nil
}

// Execute makes the arguments the answer of the turn.
func (s *structuredOutput) Execute(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	s.accept(call.Args)
	return &sdk.ToolResult{Title: "Structured output", Output: "The answer was accepted.", Metadata: sdk.Object{"valid": true}}, nil
}
