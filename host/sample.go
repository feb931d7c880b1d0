package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// samplePreview bounds what the user is shown of a request to the model, in bytes.
const samplePreview = 2000

// Sample asks the session's model, or its small one, for an answer without tools, once the user gave leave. The session must
// have a turn that runs; it pays for the answer. Errors: ErrNoTurn, *sdk.Refusal, those of the provider.
func (p *pluginHost) Sample(ctx context.Context, req sdk.SampleRequest) (result *sdk.SampleResult, err error) {
	messages, err := sampleMessages(req.Messages)
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	err = p.visit(ctx, req.SessionID, func(ctx context.Context, v *visit) error {
		t := v.turn
		if req.Small {
			if err := t.useSmallModel(ctx); err != nil {
				return err
			}
		}
		leave := sdk.PermissionRequest{
			SessionID: req.SessionID, Permission: permission.Sampling, Agent: t.agent.Name,
			Patterns: []string{p.manifest.Name}, Always: []string{p.manifest.Name},
			Metadata: sdk.Object{"plugin": p.manifest.Name, "model": t.model.Ref().String(), "prompt": previewOf(&req)},
		}
		if err := t.refusedByUser(t.permit(ctx, leave, "", p.origin())); err != nil {
			return err
		}
		result, err = t.sample(ctx, &req, messages)
		return err
	})
	return result, err
}

// sampleMessages checks what a plugin wants to say to the model.
func sampleMessages(messages []sdk.MessageWithParts) ([]sdk.MessageWithParts, error) {
	if len(messages) == 0 {
		return nil, errors.New("no message")
	}
	out := make([]sdk.MessageWithParts, len(messages))
	for i, m := range messages {
		if m.Info == nil {
			return nil, fmt.Errorf("messages[%d] has no role", i)
		}
		var err error
		if out[i].Parts, err = foreignParts(m.Parts); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out[i].Info = m.Info
	}
	return out, nil
}

// previewOf returns the beginning of a request for the user's eyes.
func previewOf(req *sdk.SampleRequest) string {
	texts := []string{req.System}
	for i := range req.Messages {
		texts = append(texts, renderMessage(&req.Messages[i]))
	}
	return visible.Cut(strings.TrimSpace(strings.Join(texts, "\n")), samplePreview, " […]")
}

// sample asks the model; t is a copy of the turn that belongs to the request.
func (t *turn) sample(ctx context.Context, req *sdk.SampleRequest, messages []sdk.MessageWithParts) (*sdk.SampleResult, error) {
	t.purpose = sdk.PurposeSampling
	var system []string
	if req.System != "" {
		system = append(system, req.System)
	}
	a, err := t.askBeside(ctx, messages, func() *sdk.ModelRequest {
		r := &sdk.ModelRequest{
			Model: t.model.Model, SessionID: t.r.session, Purpose: t.purpose, System: system, Params: t.params(), Headers: t.headers(),
		}
		if req.MaxTokens > 0 && (r.Params.MaxOutputTokens == 0 || req.MaxTokens < r.Params.MaxOutputTokens) {
			r.Params.MaxOutputTokens = req.MaxTokens
		}
		if req.Temperature != nil && t.model.Temperature {
			r.Params.Temperature = req.Temperature
		}
		return r
	})
	if err != nil {
		return nil, err
	}
	t.account(a.tokens, nil)
	return &sdk.SampleResult{Text: a.text.String(), Model: t.model.Ref().String(), FinishReason: a.reason}, nil
}
