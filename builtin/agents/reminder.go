package agents

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// maxPlanning bounds the sessions that are remembered to be in plan mode.
const maxPlanning = 1000

// Hooks returns the hook that reminds the model of the mode it is in. It works on the prompt alone: a hook
// over all messages of every request would cost more the longer a conversation grows.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatMessage(p.remind)
	h.Name = "mode"
	h.Reads, h.Writes = []string{"/parts"}, []string{"/parts"}
	return []sdk.Hook{h}
}

// remind adds to a prompt for plan that nothing may be changed, and to the first prompt for another agent
// after that, that it may again.
func (p *Plugin) remind(_ context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	was := p.note(in.SessionID, in.Agent == agentPlan)
	text := planReminder
	switch {
	case in.Agent == agentPlan:
	case was:
		text = buildReminder
	default:
		return nil
	}
	v.Parts = append(v.Parts, &sdk.TextPart{Text: strings.TrimSpace(text), Synthetic: true})
	return nil
}

// note remembers whether the session is in plan mode now and returns whether it was.
func (p *Plugin) note(session string, planning bool) (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was = p.planning[session]
	if !planning {
		delete(p.planning, session)
		return was
	}
	if len(p.planning) >= maxPlanning {
		clear(p.planning)
	}
	p.planning[session] = true
	return was
}
