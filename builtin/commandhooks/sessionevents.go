package commandhooks

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// The host does not wait for hooks at the start and the end of a session; the first prompt waits for the commands at the start instead and
// includes their texts.

func (p *Plugin) announce(_ context.Context, in *sdk.SessionInput) error {
	p.session(in.SessionID).announce(in.Session.ParentID != "")
	return nil
}

// start runs the commands at the start of a session.
func (p *Plugin) start(ctx context.Context, in *sdk.SessionInput) error {
	event, name := sessionStart, startSource(&in.Session)
	input := map[string]any{"source": name}
	if in.Session.ParentID != "" {
		event, name = subagentStart, in.Session.Agent
		input = map[string]any{"agent_type": name, "agent_id": in.SessionID, "parent_session_id": in.Session.ParentID}
	}
	texts, err := p.callAll(ctx, event, name, in.SessionID, input)
	p.session(in.SessionID).finish(texts)
	return err
}

// The sources of sessionStart and the reason of sessionEnd.
const (
	startNew     = "startup"
	startResumed = "resume"
	startCompact = "compact"
	endOther     = "other"
)

// startSource returns the source at the start of a session. A new session has no model before its first prompt.
func startSource(s *sdk.Session) string {
	if s.Model == nil {
		return startNew
	}
	return startResumed
}

// remind adds the texts to the system prompt while a turn continues after a summary. The next prompt includes them instead, because prompts are
// stored; this change of the system prompt makes the provider read the messages since the summary again, once.
func (p *Plugin) remind(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
	if in.Purpose == sdk.PurposeTurn {
		s := p.session(in.SessionID)
		s.mu.Lock()
		defer s.mu.Unlock()
		v.System = append(v.System, s.context...)
	}
	return nil
}

// again runs the commands at the start of a session when a summary replaces their texts. The next prompt includes the new ones; until
// then, remind adds them.
func (p *Plugin) again(ctx context.Context, in *sdk.CompactingInput, _ *sdk.CompactingValue) error {
	s := p.session(in.SessionID)
	if s.isChild(ctx) {
		return nil
	}
	texts, err := p.callAll(ctx, sessionStart, startCompact, in.SessionID, map[string]any{"source": startCompact})
	s.finish(texts)
	return err
}

// end runs the commands at the end of a session, except a subagent's.
func (p *Plugin) end(ctx context.Context, in *sdk.SessionInput) error {
	if in.Session.ParentID != "" {
		return nil
	}
	_, err := p.callAll(ctx, sessionEnd, endOther, in.SessionID, map[string]any{"reason": endOther})
	return err
}

// addStart adds the texts of the commands at the session's start.
func (p *Plugin) addStart(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	s := p.session(in.SessionID)
	s.isChild(ctx)
	said, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: the commands for the start of the session are still running: %w", p.source.Where, err)
	}
	for _, text := range said {
		v.Parts = append(v.Parts, p.note(in, text))
	}
	return nil
}

// prompt runs a command for a prompt of the user.
func (e *entry) prompt(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	if e.plugin.session(in.SessionID).isChild(ctx) {
		return nil // written by an agent
	}
	r, err := e.call(ctx, in.SessionID, map[string]any{"prompt": typed(v.Parts), "agent_type": in.Agent})
	if err != nil {
		return err
	}
	if r.verdict >= block {
		v.Parts = sdk.Parts{e.plugin.note(in, "A hook withheld the user's prompt from you. Tell the user so, with this reason, and do nothing else: "+r.because(e))}
		return nil
	}
	if r.context != "" {
		v.Parts = append(v.Parts, e.plugin.note(in, r.context))
	}
	return nil
}

// typed returns the user's own text.
func typed(parts sdk.Parts) string {
	var texts []string
	for _, part := range parts {
		if t, ok := part.(*sdk.TextPart); ok && !t.Synthetic {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// note returns a synthetic part for the model.
func (p *Plugin) note(in *sdk.ChatMessageInput, text string) *sdk.TextPart {
	return &sdk.TextPart{
		PartHead: sdk.PartHead{SessionID: in.SessionID, MessageID: in.MessageID}, Text: text, Synthetic: true,
		Metadata: sdk.Object{"plugin": p.source.Name},
	}
}
