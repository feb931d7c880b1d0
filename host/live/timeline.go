package live

import (
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// LastSummary returns the indices of the latest finished summary and of its question, and the identifier of the first message kept
// verbatim; -1 without a summary, or without its question.
func LastSummary(messages []sdk.MessageWithParts) (summary, question int, tail string) {
	for i := len(messages) - 1; i >= 0; i-- {
		a, ok := messages[i].Info.(*sdk.AssistantMessage)
		if !ok || !a.Summary || a.Error != nil || a.Time.Completed == 0 {
			continue
		}
		if k := IndexOf(messages[:i], a.ParentID); k >= 0 {
			if c := CompactionPart(messages[k].Parts); c != nil {
				return i, k, c.TailStartID
			}
		}
		break
	}
	return -1, -1, ""
}

// ByUser reports whether the user wrote a message. The host also writes messages of this role, such as requests for summaries.
func ByUser(m *sdk.MessageWithParts) bool {
	return m.Info.Role() == sdk.RoleUser && CompactionPart(m.Parts) == nil && slices.ContainsFunc(m.Parts, func(p sdk.Part) bool {
		text, ok := p.(*sdk.TextPart)
		return !ok || !text.Synthetic
	})
}

// CompactionPart returns the part that requests a summary; nil if there is none.
func CompactionPart(parts sdk.Parts) *sdk.CompactionPart {
	for _, p := range parts {
		if c, ok := p.(*sdk.CompactionPart); ok {
			return c
		}
	}
	return nil
}

// reachesSummary reports whether the messages go back far enough: to a finished summary, its question and
// its verbatim tail.
func reachesSummary(messages []sdk.MessageWithParts) bool {
	summary, question, tail := LastSummary(messages)
	return summary >= 0 && (tail == "" || verbatim(messages[:question], tail) != nil)
}

// verbatim returns the messages from tail on. If it is a step of a turn, the turn's prompt comes first (if that is damaged, the nearest
// earlier one; without any, the steps are lost): a conversation in which an answer follows a summary without a prompt is refused by some
// servers. Nil means that not all are there.
func verbatim(messages []sdk.MessageWithParts, tail string) []sdk.MessageWithParts {
	from := IndexOf(messages, tail)
	if from < 0 {
		return nil
	}
	for prompt := from; prompt >= 0; prompt-- {
		if _, ok := messages[prompt].Info.(*sdk.UserMessage); ok && CompactionPart(messages[prompt].Parts) == nil {
			return slices.Concat(messages[prompt:min(prompt+1, from)], messages[from:])
		}
	}
	return nil
}

// WithoutUndone returns the messages before the first undone one. r is the session's, nil if none is undone.
func WithoutUndone(messages []sdk.MessageWithParts, r *sdk.Revert) []sdk.MessageWithParts {
	if r != nil {
		if i := IndexOf(messages, r.MessageID); i >= 0 {
			return messages[:i]
		}
	}
	return messages
}

// IndexOf returns the index of a message, or -1. Recent ones are found first.
func IndexOf(messages []sdk.MessageWithParts, id string) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Info.Head().ID == id {
			return i
		}
	}
	return -1
}

// CauseOf returns the index of the message whose tool calls made a change of a subagent. It is -1 if that message is not among them: it is
// older, or its prompt was undone and a new one took its place.
func CauseOf(messages []sdk.MessageWithParts, change *sdk.PatchPart) int {
	n, _ := slices.BinarySearchFunc(messages, Moment(change.ID), func(m sdk.MessageWithParts, at string) int {
		return strings.Compare(Moment(m.Info.Head().ID), at)
	})
	if n > 0 && slices.ContainsFunc(messages[n-1].Parts, func(p sdk.Part) bool { _, ok := p.(*sdk.ToolPart); return ok }) {
		return n - 1
	}
	return -1
}

// Active returns the messages for the model: the latest summary in place of the messages that it covers, its verbatim tail, and everything since.
// Failed compactions are left out.
func Active(messages []sdk.MessageWithParts) []sdk.MessageWithParts {
	summary, question, tail := LastSummary(messages)
	if summary < 0 {
		return withoutCompactions(messages)
	}
	out := []sdk.MessageWithParts{messages[question], messages[summary]}
	out = append(out, withoutCompactions(verbatim(messages[:question], tail))...)
	return append(out, withoutCompactions(messages[summary+1:])...)
}

func withoutCompactions(messages []sdk.MessageWithParts) []sdk.MessageWithParts {
	return slices.DeleteFunc(slices.Clone(messages), func(m sdk.MessageWithParts) bool {
		a, ok := m.Info.(*sdk.AssistantMessage)
		return CompactionPart(m.Parts) != nil || ok && a.Summary
	})
}

// HasResults reports whether the parts contain a completed tool call.
func HasResults(parts sdk.Parts) bool {
	return slices.ContainsFunc(parts, func(p sdk.Part) bool {
		tool, ok := p.(*sdk.ToolPart)
		return ok && tool.State.Status == sdk.ToolCompleted
	})
}

// AnswerText joins the text the user gets from a message.
func AnswerText(parts sdk.Parts) string {
	var out []string
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Ignored && !text.Synthetic && text.Text != "" {
			out = append(out, text.Text)
		}
	}
	return strings.Join(out, "\n")
}
