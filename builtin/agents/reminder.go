package agents

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

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
func (p *Plugin) remind(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	reminder := agentPlan
	if in.Agent != agentPlan {
		if planned, err := p.planned(ctx, in); err != nil || !planned {
			return err
		}
		reminder = "build-switch"
	}
	v.Parts = append(v.Parts, &sdk.TextPart{Text: prompt(reminder), Synthetic: true})
	return nil
}

// planned reports whether the prompt before this one was for plan.
func (p *Plugin) planned(ctx context.Context, in *sdk.ChatMessageInput) (bool, error) {
	if p.sessions == nil {
		return false, nil
	}
	messages, err := p.sessions.SessionMessages(ctx, in.SessionID)
	for i := len(messages) - 1; i >= 0; i-- {
		if u, ok := messages[i].Info.(*sdk.UserMessage); ok && u.ID != in.MessageID {
			return u.Agent == agentPlan, nil
		}
	}
	return false, err
}
