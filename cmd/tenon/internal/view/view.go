package view

import (
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// Turn describes a turn to a view before the turn starts.
type Turn struct {
	Session     *sdk.Session
	Directory   string
	Retries     int                 // maximum retries of a step
	LogsNotices bool                // the log shows notices of plugins
	Clean       func(string) string // masks secrets
	// Remedy returns the text (with masked secrets), the remedy and the exit code of an error that ends the turn.
	Remedy func(error) (text, fix string, code int)
	Raw    bool // print Markdown unrendered and omit tool output
	InChat bool // the turn belongs to a chat, which itself prints the command that continues the session
}

// Outcome describes the end of a turn.
type Outcome struct {
	Message *sdk.MessageWithParts // the last message; nil if the turn ended before it
	Err     error
	Took    time.Duration
	Leave   bool // a signal requested the end of the process, not only of the turn
}

// follower tracks the messages and sessions in events.
type follower struct {
	root    string
	parents map[string]string                // of the subagents' sessions
	steps   map[string]*sdk.AssistantMessage // by message, of all sessions
	model   string                           // model of the root session's latest step, as provider/model
}

func newFollower(root string) *follower {
	return &follower{root: root, parents: map[string]string{}, steps: map[string]*sdk.AssistantMessage{}}
}

// take updates the state from an event.
func (f *follower) take(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.SessionInfo:
		f.parents[p.SessionID] = p.Info.ParentID
	case *sdk.MessageInfo:
		m, ok := p.Info.(*sdk.AssistantMessage)
		if !ok {
			return
		}
		f.steps[m.ID] = m
		if m.SessionID == f.root && !m.Summary {
			f.model = m.ProviderID + "/" + m.ModelID
		}
	}
}

// depth returns the depth of a session below the root session. A resumed subagent's session was never announced, so it counts
// as a child of the root.
func (f *follower) depth(session string) (depth int) {
	for ; session != f.root && session != ""; session = f.parents[session] {
		depth++
	}
	return depth
}

// answers reports whether the part belongs to the answer, that is, to a step of the root session that is not a summary.
func (f *follower) answers(h *sdk.PartHead) bool {
	m := f.steps[h.MessageID]
	return h.SessionID == f.root && m != nil && !m.Summary
}

// totals returns the figures of a turn, including its subagents. steps are those of the root session.
func (f *follower) totals() (steps int, tokens sdk.Tokens, cost sdk.USD) {
	for _, m := range f.steps {
		tokens = tokens.Add(m.Tokens)
		cost += m.Cost
		if m.SessionID == f.root && !m.Summary {
			steps++
		}
	}
	return steps, tokens, cost
}

// AnswerText returns the text of an answer.
func AnswerText(m *sdk.MessageWithParts) string {
	if m == nil || m.Info.Role() != sdk.RoleAssistant {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.(*sdk.TextPart); ok && !t.Ignored && !t.Synthetic && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// callText matches an answer that is a tool call, as models write it whose server does not know the model's format.
var callText = lazyregexp.New("^\\s*(```(json)?\\s*)?" + `(<\|?tool_call|<function=|\{\s*"name"\s*:\s*"[\w.-]+"\s*,\s*"(arguments|parameters)"\s*:)`)

// Shortfall describes an incomplete answer of a turn that ended without an error; empty for a complete one. The text ends before the prompt
// that requests the rest.
func Shortfall(m *sdk.MessageWithParts) string {
	a, ok := m.Info.(*sdk.AssistantMessage)
	if !ok || a.Error != nil {
		return ""
	}
	switch a.Finish {
	case sdk.FinishLength:
		return "the answer was cut at the model's output limit; get the rest with"
	case sdk.FinishStop, sdk.FinishOther:
		text := AnswerText(m)
		if text == "" && structured(m) == nil {
			return "the model ended its turn without an answer; ask for one with"
		}
		if callText().MatchString(text) {
			return "the model wrote a tool call as text, so no tool was called; use a model and a server that support tool calls, or try again with"
		}
	}
	return ""
}

// structured returns the answer as JSON that matches the prompt's schema, or nil.
func structured(m *sdk.MessageWithParts) []byte {
	if m == nil {
		return nil
	}
	if a, ok := m.Info.(*sdk.AssistantMessage); ok {
		return a.Structured
	}
	return nil
}
