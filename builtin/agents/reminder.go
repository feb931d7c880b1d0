package agents

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Hooks returns the hook that reminds the model of the mode it is in. What it adds is sent, not stored.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatMessages(p.remind)
	h.Name = "mode"
	h.Reads, h.Writes = []string{"/messages"}, []string{"/messages"}
	return []sdk.Hook{h}
}

// remind appends to the last user message that nothing may be changed while the agent is plan, and that
// it may again when the message before was answered by plan.
func (p *Plugin) remind(_ context.Context, in *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
	if in.Purpose != sdk.PurposeTurn {
		return nil
	}
	last := -1
	for i := len(v.Messages) - 1; i >= 0 && last < 0; i-- {
		if _, ok := v.Messages[i].Info.(*sdk.UserMessage); ok {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	text := planReminder
	if in.Agent != agentPlan {
		if before, ok := assistantBefore(v.Messages, last); !ok || before.Agent != agentPlan {
			return nil
		}
		text = buildReminder
	}
	m := &v.Messages[last]
	head := m.Info.Head()
	m.Parts = append(m.Parts, &sdk.TextPart{
		PartHead:  sdk.PartHead{ID: p.ids.New(sdk.PrefixPart), SessionID: head.SessionID, MessageID: head.ID},
		Text:      strings.TrimSpace(text),
		Synthetic: true,
	})
	return nil
}

func assistantBefore(messages []sdk.MessageWithParts, i int) (*sdk.AssistantMessage, bool) {
	for i--; i >= 0; i-- {
		if a, ok := messages[i].Info.(*sdk.AssistantMessage); ok {
			return a, true
		}
	}
	return nil, false
}
