package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// defaultCorrections is how often a model that answers without structure is reminded to give it.
const defaultCorrections = 2

// structuredOutput is the tool through which the model gives an answer that meets the prompt's schema. The
// schema check of every call does the work.
type structuredOutput struct{ schema json.RawMessage }

// Definition returns the prompt's schema as the tool's parameters.
func (s *structuredOutput) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID: structuredTool, Parameters: s.schema,
		Description: "Give the final answer through this tool, exactly once, when all the work is done. Its arguments are the answer.",
	}
}

// Prepare asks for nothing: giving an answer needs no leave.
func (s *structuredOutput) Prepare(context.Context, *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return nil, nil
}

// Execute makes the arguments the answer of the turn.
func (s *structuredOutput) Execute(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	h := call.Host.(*callHost)
	h.t.c.Locked(func() { h.t.msg.Structured = call.Args })
	return &sdk.ToolResult{Title: "Structured output", Output: "The answer was accepted.", Metadata: sdk.Object{"valid": true}}, nil
}

func structured(schema json.RawMessage) *tool {
	s := &structuredOutput{schema}
	return &tool{Tool: s, definition: s.Definition(), origin: sdk.Origin{Carrier: sdk.CarrierBuiltin, Plugin: "tenon"}}
}

// wantsStructured reports whether the prompt asks for an answer that meets a schema.
func (t *turn) wantsStructured() bool {
	return t.user != nil && t.user.Format != nil && t.user.Format.Type == sdk.FormatJSONSchema
}

// remindStructured asks a model that answered in plain text for the structure, a few times.
func (t *turn) remindStructured() (state, error) {
	limit := defaultCorrections
	if n := t.user.Format.RetryCount; n != nil {
		limit = *n
	}
	if t.corrections >= limit {
		named := &sdk.NamedError{Name: sdk.ErrorStructuredOutput, Data: sdk.ErrorData{
			Message: fmt.Sprintf("the model did not give structured output, though reminded %d times", t.corrections), Retries: t.corrections,
		}}
		return stateDone, named
	}
	t.corrections++
	t.addSynthetic("The answer has to be given through the tool "+structuredTool+". Call it now.", nil)
	return stateAsk, nil
}
