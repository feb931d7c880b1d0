package commandhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// sessionHooks carry SessionStart, SubagentStart and SessionEnd. At these points nobody waits for a hook; what the commands at a
// start have to say waits for the first prompt instead, or rather the prompt for them.
func (p *Plugin) sessionHooks() []sdk.Hook {
	var list []sdk.Hook
	if p.has(sessionStart, subagentStart, userPromptSubmit, stop, subagentStop) {
		// A hook of its own, so that the news of one session does not wait for the commands of another.
		h := sdk.OnSessionStart(p.announce)
		h.Name = "sessions"
		list = append(list, h)
	}
	if p.has(sessionStart, subagentStart) {
		h := sdk.OnSessionStart(p.start)
		h.Name, h.Timeout = sessionStart, p.startTimeout()
		list = append(list, h)
	}
	if ends := p.entries(sessionEnd); len(ends) > 0 {
		h := sdk.OnSessionEnd(p.end)
		h.Name, h.Timeout = sessionEnd, total(ends)
		list = append(list, h)
	}
	return list
}

func (p *Plugin) announce(_ context.Context, in *sdk.SessionInput) error {
	p.sessions.get(in.SessionID).announce(in.Session.ParentID != "")
	return nil
}

// startTimeout bounds all commands at the start of a session together.
func (p *Plugin) startTimeout() time.Duration {
	return max(total(p.entries(sessionStart)), total(p.entries(subagentStart)))
}

// total adds the timeouts of commands that run one after the other.
func total(entries []*entry) time.Duration {
	var sum time.Duration
	for _, e := range entries {
		sum += e.timeout
	}
	return min(sum, sdk.MaxHookTimeout)
}

// start runs the commands at the start of a session. One that fails does not keep the others from running.
func (p *Plugin) start(ctx context.Context, in *sdk.SessionInput) error {
	s := p.sessions.get(in.SessionID)
	var said []string
	defer func() { s.finish(said) }()
	event, names, input := sessionStart, []string{startSource(&in.Session)}, map[string]any{}
	if in.Session.ParentID != "" {
		event, names = subagentStart, []string{in.Session.Agent}
		input["agent_type"], input["agent_id"], input["parent_session_id"] = in.Session.Agent, in.SessionID, in.Session.ParentID
	} else {
		input["source"] = names[0]
	}
	var problems []error
	for _, e := range p.entries(event) {
		if !e.matcher.any(names...) {
			continue
		}
		r, err := p.call(ctx, e, in.SessionID, input)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if r.context != "" {
			said = append(said, r.context)
		}
	}
	return errors.Join(problems...)
}

// startSource says how a session began: one that no prompt was given to has no model yet.
func startSource(s *sdk.Session) string {
	if s.Model == nil {
		return "startup"
	}
	return "resume"
}

// end runs the commands at the end of a session, not of a subagent's.
func (p *Plugin) end(ctx context.Context, in *sdk.SessionInput) error {
	p.sessions.forget(in.SessionID)
	if in.Session.ParentID != "" {
		return nil
	}
	var problems []error
	for _, e := range p.entries(sessionEnd) {
		if !e.matcher.any("other") {
			continue
		}
		if _, err := p.call(ctx, e, in.SessionID, map[string]any{"reason": "other"}); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// promptHooks carry UserPromptSubmit, and what was said at the start of the session.
func (p *Plugin) promptHooks() []sdk.Hook {
	var list []sdk.Hook
	if p.has(sessionStart, subagentStart) {
		h := sdk.OnChatMessage(p.addStart)
		// The commands have their own deadlines; the prompt waits a little longer than they may take.
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

// addStart adds what the commands at the session's start said.
func (p *Plugin) addStart(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	s := p.sessions.get(in.SessionID)
	if !s.started(ctx) {
		return nil // what they say later goes along with the next prompt
	}
	said, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: the commands at the start of the session are not done: %w", p.source.Where, err)
	}
	for _, text := range said {
		v.Parts = append(v.Parts, p.note(in, text))
	}
	return nil
}

// prompt runs a command over a prompt of the user's.
func (p *Plugin) prompt(ctx context.Context, e *entry, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	s := p.sessions.get(in.SessionID)
	s.started(ctx)
	if s.isChild() {
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

// typed returns what the user wrote.
func typed(parts sdk.Parts) string {
	var texts []string
	for _, part := range parts {
		if t, ok := part.(*sdk.TextPart); ok && !t.Synthetic {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// note makes a part for the model that the user did not write.
func (p *Plugin) note(in *sdk.ChatMessageInput, text string) *sdk.TextPart {
	return &sdk.TextPart{
		PartHead: sdk.PartHead{SessionID: in.SessionID, MessageID: in.MessageID}, Text: text, Synthetic: true,
		Metadata: sdk.Object{"plugin": p.source.Name},
	}
}
