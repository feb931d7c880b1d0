package agents

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// maxPlanning is the maximum number of sessions recorded as being in plan mode.
const maxPlanning = 1000

// Hooks returns the hook that reminds the model of its mode. It only changes the prompt: the cost of a hook
// over all messages of each request would grow with the conversation.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatMessage(p.remind)
	h.Name = "mode"
	h.Reads, h.Writes = []string{"/parts"}, []string{"/parts"}
	return []sdk.Hook{h}
}

// remind adds a note to each prompt for plan that changes are forbidden, and to the next prompt for another agent that
// they are allowed again.
func (p *Plugin) remind(_ context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	reminder := agentPlan
	switch {
	case in.Agent == agentPlan:
		if len(p.planning) >= maxPlanning {
			clear(p.planning)
		}
		p.planning[in.SessionID] = true
	case p.planning[in.SessionID]:
		reminder = "build-switch"
		delete(p.planning, in.SessionID)
	default:
		return nil
	}
	v.Parts = append(v.Parts, &sdk.TextPart{Text: prompt(reminder), Synthetic: true})
	return nil
}
