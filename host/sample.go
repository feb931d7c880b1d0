package host

import (
	"context"

	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// Sample asks the session's model, or its small one, for an answer without tools, once the user gave leave.
func (v *visit) Sample(ctx context.Context, by sdk.Manifest, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	t := v.turn
	m := t.Model
	if req.Small {
		var err error
		if m, err = t.SmallModel(ctx); err != nil {
			return nil, err
		}
	}
	leave := sdk.PermissionRequest{
		SessionID: req.SessionID, Permission: permission.Sampling, Agent: t.Agent.Name, Patterns: []string{by.Name}, Always: []string{by.Name},
		Metadata: sdk.Object{"plugin": by.Name, "model": m.Ref().String(), "prompt": generation.PreviewOf(&req)},
	}
	if err := t.refusedByUser(t.permit(ctx, leave, "", generation.OriginOf(by))); err != nil {
		return nil, err
	}
	t.Setup = t.As(t.Agent, m, sdk.PurposeSampling) // of this request; the ledger has it under its purpose
	return sample(ctx, t, &req)
}

// sample asks the turn's model.
func sample(ctx context.Context, t *turn, req *sdk.SampleRequest) (*sdk.SampleResult, error) {
	var system []string
	if req.System != "" {
		system = append(system, req.System)
	}
	a, err := t.AskAside(ctx, t.c, t.user, req.Messages, t.ledger, func() *sdk.ModelRequest {
		r := t.Setup.Request(system, t.user.Model.Variant)
		if req.MaxTokens > 0 && (r.Params.MaxOutputTokens == 0 || req.MaxTokens < r.Params.MaxOutputTokens) {
			r.Params.MaxOutputTokens = req.MaxTokens
		}
		if req.Temperature != nil && t.Model.Temperature {
			r.Params.Temperature = req.Temperature
		}
		return r
	})
	if err != nil {
		return nil, err
	}
	return &sdk.SampleResult{Text: a.Text.String(), Model: t.Model.Ref().String(), FinishReason: a.Reason}, nil
}
