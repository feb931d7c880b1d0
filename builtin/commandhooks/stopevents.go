package commandhooks

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// compactionHooks returns the hooks of PreCompact and PostCompact.
func (p *Plugin) compactionHooks() []sdk.Hook {
	var list []sdk.Hook
	for _, e := range p.entries(preCompact) {
		h := e.hook(sdk.OnCompacting(func(ctx context.Context, in *sdk.CompactingInput, v *sdk.CompactingValue) error {
			r, err := p.call(ctx, e, in.SessionID, map[string]any{"custom_instructions": ""})
			if err == nil && r.context != "" {
				v.Context = append(v.Context, r.context)
			}
			return err
		}))
		h.Reads, h.Writes = []string{"/context"}, []string{"/context"}
		list = append(list, h)
	}
	if p.has(postCompact) {
		h := sdk.OnEvent(p.compacted)
		h.Name, h.Timeout = postCompact, p.total(postCompact)
		list = append(list, h)
	}
	return list
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

// stopHooks returns the hooks of Stop and SubagentStop. Both are at the same point; the session decides which one applies.
func (p *Plugin) stopHooks() []sdk.Hook {
	var list []sdk.Hook
	for _, event := range []string{stop, subagentStop} {
		for _, e := range p.entries(event) {
			list = append(list, e.hook(sdk.OnTurnStop(func(ctx context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
				return p.stop(ctx, e, in)
			})))
		}
	}
	return list
}

// stop runs a command at the end of a turn, which can make the turn continue.
func (p *Plugin) stop(ctx context.Context, e *entry, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
	child := p.sessions.get(in.SessionID).isChild(ctx)
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
	r, err := p.call(ctx, e, in.SessionID, input)
	switch {
	case err != nil:
		return sdk.StopDecision{}, err
	case r.halt || !r.block:
		return sdk.StopDecision{Reason: r.reason}, nil
	}
	return sdk.StopDecision{Continue: true, Message: r.because(e), Reason: r.because(e)}, nil
}
