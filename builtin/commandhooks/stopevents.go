package commandhooks

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// compacting runs a command at PreCompact.
func (e *entry) compacting(ctx context.Context, in *sdk.CompactingInput, v *sdk.CompactingValue) error {
	r, err := e.call(ctx, in.SessionID, map[string]any{"custom_instructions": ""})
	if err == nil && r.context != "" {
		v.Context = append(v.Context, r.context)
	}
	return err
}

// compacted runs the commands at PostCompact if the event is that of a compaction.
func (p *Plugin) compacted(ctx context.Context, in *sdk.Event) error {
	ref, ok := in.Properties.(*sdk.SessionRef)
	if in.Type != sdk.EventSessionCompacted || !ok {
		return nil
	}
	_, err := p.callAll(ctx, postCompact, "", ref.SessionID, map[string]any{})
	return err
}

// stop runs a command at the end of a turn, which can make the turn continue. Stop and SubagentStop are at the same point; the session
// decides which one applies.
func (e *entry) stop(ctx context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
	child := e.plugin.session(in.SessionID).isChild(ctx)
	input := map[string]any{"stop_hook_active": in.Continued > 0, "last_assistant_message": in.Text}
	agent := ""
	if in.Message != nil {
		agent = in.Message.Agent
	}
	if child != (e.event == subagentStop) || !e.matcher.any(agent) {
		return sdk.StopDecision{}, nil
	}
	if child {
		input["agent_type"], input["agent_id"] = agent, in.SessionID
	}
	r, err := e.call(ctx, in.SessionID, input)
	switch {
	case err != nil:
		return sdk.StopDecision{}, err
	case r.verdict == block:
		return sdk.StopDecision{Continue: true, Message: r.because(e), Reason: r.because(e)}, nil
	}
	return sdk.StopDecision{Continue: r.verdict != halt && r.context != "", Message: r.context, Reason: r.reason}, nil
}
