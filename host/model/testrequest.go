package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// testTokens is the maximum number of tokens of the answer to a test request; OpenAI accepts no lower limit than 16,
// see https://platform.openai.com/docs/api-reference/responses ("max_output_tokens").
const testTokens = 16

// Test tests the user's credentials for a provider. It asks for the list of models and returns their number. A provider that cannot list its
// models gets a short request to its small model instead, and the number is 0. Errors: errors.ErrUnsupported if no model is known.
func (m *Models) Test(ctx context.Context, id string) (models int, err error) {
	if list, err := m.list(ctx, id); !noList(err) {
		return len(list), err
	}
	return 0, m.testRequest(ctx, id)
}

// testRequest sends a short request to the small model of a provider, else to its default model.
func (m *Models) testRequest(ctx context.Context, id string) error {
	p := m.providers[id]
	usual, _ := m.defaultModel(p)
	name := cmp.Or(m.smallID(p, &usual), usual.ID)
	if name == "" {
		return fmt.Errorf("provider %q has no known model: %w", id, errors.ErrUnsupported)
	}
	model, err := m.Open(ctx, id+"/"+name, false)
	if err != nil {
		return err
	}
	ask := sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: "Reply with OK."}}}
	req := &sdk.ModelRequest{
		Model: model.Model, SessionID: "test", Purpose: sdk.PurposeTitle, System: []string{"Answer in one word."}, Messages: []sdk.ModelMessage{ask},
		Params: sdk.ChatParams{MaxOutputTokens: testTokens, Options: sdk.Object{}},
	}
	return model.Stream(ctx, req, func(sdk.StreamEvent) error { return nil })
}
