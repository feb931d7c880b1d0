package commandhooks

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// compactionHooks carry PreCompact and PostCompact.
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
	if after := p.entries(postCompact); len(after) > 0 {
		h := sdk.OnEvent(func(ctx context.Context, in *sdk.Event) error { return p.compacted(ctx, after, in) })
		h.Name, h.Timeout = postCompact, total(after)
		list = append(list, h)
	}
	return list
}

// compacted runs the commands at PostCompact when the event is that of a compaction.
func (p *Plugin) compacted(ctx context.Context, entries []*entry, in *sdk.Event) error {
	ref, ok := in.Properties.(*sdk.SessionRef)
	if in.Type != sdk.EventSessionCompacted || !ok {
		return nil
	}
	var problems []error
	for _, e := range entries {
		if _, err := p.call(ctx, e, ref.SessionID, map[string]any{}); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// stopHooks carry Stop and SubagentStop: the same point, told apart by whose session it is.
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

// stop runs a command at the end of a turn. It may make the turn go on.
func (p *Plugin) stop(ctx context.Context, e *entry, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
	child := p.sessions.get(in.SessionID).isChild()
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
	if err != nil || r.halt || !r.block {
		return sdk.StopDecision{Reason: reasonOf(r)}, err
	}
	return sdk.StopDecision{Continue: true, Message: r.because(e), Reason: r.because(e)}, nil
}

func reasonOf(r *reply) string {
	if r == nil {
		return ""
	}
	return r.reason
}
