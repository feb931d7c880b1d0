package commandhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// sessionHooks returns the hooks of SessionStart, SubagentStart and SessionEnd. The host does not wait for hooks at these points;
// the first prompt waits for the commands at the start instead and includes their texts.
func (p *Plugin) sessionHooks() []sdk.Hook {
	var list []sdk.Hook
	if p.has(sessionStart, subagentStart, userPromptSubmit, stop, subagentStop) {
		// A separate hook, so that one session's start does not wait for the commands of another.
		h := sdk.OnSessionStart(p.announce)
		h.Name = "sessions"
		list = append(list, h)
	}
	if p.has(sessionStart, subagentStart) {
		h := sdk.OnSessionStart(p.start)
		h.Name, h.Timeout = sessionStart, p.startTimeout()
		list = append(list, h)
	}
	if p.has(sessionEnd) {
		h := sdk.OnSessionEnd(p.end)
		h.Name, h.Timeout = sessionEnd, p.total(sessionEnd)
		list = append(list, h)
	}
	return list
}

func (p *Plugin) announce(_ context.Context, in *sdk.SessionInput) error {
	p.sessions.get(in.SessionID).announce(in.Session.ParentID != "")
	return nil
}

// startTimeout is the deadline of all commands at the start of a session together.
func (p *Plugin) startTimeout() time.Duration {
	return max(p.total(sessionStart), p.total(subagentStart))
}

// total adds the timeouts of the commands at an event.
func (p *Plugin) total(event string) time.Duration {
	var sum time.Duration
	for _, e := range p.entries(event) {
		sum += e.timeout
	}
	return min(sum, sdk.MaxHookTimeout)
}

// callAll runs the commands at an event that match the name, one after the other, and returns their texts for the model. All of them
// run, even if one fails.
func (p *Plugin) callAll(ctx context.Context, event, name, session string, input map[string]any) ([]string, error) {
	var texts []string
	var problems []error
	for _, e := range p.entries(event) {
		if !e.matcher.any(name) {
			continue
		}
		r, err := p.call(ctx, e, session, input)
		if err != nil {
			problems = append(problems, err)
		} else if r.context != "" {
			texts = append(texts, r.context)
		}
	}
	return texts, errors.Join(problems...)
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
	p.sessions.get(in.SessionID).finish(texts)
	return err
}

// startSource returns how a session began. A new session has no model before its first prompt.
func startSource(s *sdk.Session) string {
	if s.Model == nil {
		return "startup"
	}
	return "resume"
}

// end runs the commands at the end of a session, except a subagent's.
func (p *Plugin) end(ctx context.Context, in *sdk.SessionInput) error {
	p.sessions.forget(in.SessionID)
	if in.Session.ParentID != "" {
		return nil
	}
	_, err := p.callAll(ctx, sessionEnd, "other", in.SessionID, map[string]any{"reason": "other"})
	return err
}

// promptHooks returns the hooks of UserPromptSubmit, and the hook that adds the texts from the start of the session.
func (p *Plugin) promptHooks() []sdk.Hook {
	var list []sdk.Hook
	if p.has(sessionStart, subagentStart) {
		h := sdk.OnChatMessage(p.addStart)
		// The commands have their own deadlines; the prompt waits slightly longer.
		h.Name, h.Timeout = sessionStart, min(p.startTimeout()+time.Second, sdk.MaxHookTimeout)
		h.Reads, h.Writes = []string{"/parts"}, []string{"/parts"}
		list = append(list, h)
	}
	for _, e := range p.entries(userPromptSubmit) {
		h := e.hook(sdk.OnChatMessage(func(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
			return p.prompt(ctx, e, in, v)
		}))
		h.Reads, h.Writes = []string{"/parts"}, []string{"/parts"}
		list = append(list, h)
	}
	return list
}

// addStart adds the texts of the commands at the session's start.
func (p *Plugin) addStart(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	s := p.sessions.get(in.SessionID)
	s.isChild(ctx)
	said, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: the commands at the start of the session have not finished: %w", p.source.Where, err)
	}
	for _, text := range said {
		v.Parts = append(v.Parts, p.note(in, text))
	}
	return nil
}

// prompt runs a command for a prompt of the user.
func (p *Plugin) prompt(ctx context.Context, e *entry, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	if p.sessions.get(in.SessionID).isChild(ctx) {
		return nil // written by an agent
	}
	r, err := p.call(ctx, e, in.SessionID, map[string]any{"prompt": typed(v.Parts), "agent_type": in.Agent})
	if err != nil {
		return err
	}
	if r.block || r.halt {
		v.Parts = sdk.Parts{p.note(in, "The user's prompt was withheld by a hook, and you do not get to see it. Do nothing but tell the user so, with this reason: "+r.because(e))}
		return nil
	}
	if r.context != "" {
		v.Parts = append(v.Parts, p.note(in, r.context))
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
