package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/sdk"
)

// TypedText returns the text that the user typed; empty if the host wrote the message.
func TypedText(parts sdk.Parts) string {
	var out []string
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Synthetic {
			out = append(out, text.Text)
		}
	}
	return strings.Join(out, "\n")
}

// Draft returns the text that the user typed to send the message: a shell command follows "!", without its output. Plugins can set the
// metadata, so a command counts only if the text shows it.
func Draft(parts sdk.Parts) string {
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Synthetic {
			if line, ok := text.Metadata["shell"].(string); ok && strings.HasPrefix(text.Text, "$ "+line+"\n") {
				return "!" + line
			}
		}
	}
	return TypedText(parts)
}

// PromptText is TypedText without the tags that mark the notes after the output of a shell command for the model.
func PromptText(parts sdk.Parts) string {
	text := TypedText(parts)
	rest, noted := strings.CutSuffix(text, "\n</bash_metadata>")
	i := strings.LastIndex(rest, "\n<bash_metadata>\n")
	if !noted || i < 0 || Draft(parts) == text {
		return text
	}
	return strings.TrimSuffix(rest[:i], "\n") + rest[i:][len("\n<bash_metadata>"):]
}

// ShowMessage writes a stored message. Paths below directory are shown relative to it. On a terminal, answers are rendered from Markdown.
// If outputs is set, the output of a call follows it.
func ShowMessage(c *terminal.Screen, b *strings.Builder, m *sdk.MessageWithParts, directory string, outputs bool) {
	var head string
	switch info := m.Info.(type) {
	case *sdk.UserMessage:
		head = "user · " + clock(info.Time.Created) + " · " + terminal.OneLine(info.ID)
	case *sdk.AssistantMessage:
		head = "assistant · " + terminal.Visible(info.ProviderID+"/"+info.ModelID) + " · " + clock(info.Time.Created)
		if info.Summary {
			head = "summary of what came before · " + clock(info.Time.Created)
		}
	default:
		head = terminal.Visible(m.Info.Role())
	}
	fmt.Fprintf(b, "\n%s\n", c.Paint(terminal.Cyan, head))
	for _, p := range m.Parts {
		text := showPart(c, p, directory)
		if answer, ok := p.(*sdk.TextPart); ok && c.Rich && m.Info.Role() == sdk.RoleAssistant && !answer.Synthetic && !answer.Ignored {
			text = strings.Join(markdown.Render(answer.Text, c.Width()-1, c.Style()), "\n")
		}
		if text != "" {
			b.WriteString(text + "\n")
		}
		if call, ok := p.(*sdk.ToolPart); ok && outputs {
			for line := range strings.Lines(terminal.Visible(terminal.StripSGR(call.State.Output))) {
				b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Error != nil {
		fmt.Fprintf(b, "%s\n", c.Paint(terminal.Red, terminal.Visible(a.Error.Name+": "+a.Error.Error())))
	}
}

func clock(millis sdk.Millis) string { return time.UnixMilli(millis).Format("15:04:05") }

func showPart(c *terminal.Screen, p sdk.Part, directory string) string {
	short := func(text string) string { return Clip(terminal.OneLine(text), reasoningLength) }
	dim := ""
	switch p := p.(type) {
	case *sdk.TextPart:
		switch {
		case p.Text == "":
		case p.Synthetic:
			dim = "(" + short(p.Text) + ")"
		case p.Ignored:
			dim = "(cut off: " + short(p.Text) + ")"
		default:
			return strings.TrimRight(terminal.Prose(p.Text), "\n")
		}
	case *sdk.ReasoningPart:
		dim = "thought: " + short(p.Text)
	case *sdk.FilePart:
		dim = "attached " + terminal.OneLine(p.Mime)
		if p.Filename != "" {
			dim = fmt.Sprintf("attached %s (%s)", terminal.OneLine(p.Filename), terminal.OneLine(p.Mime))
		}
	case *sdk.ToolPart:
		if !p.State.Open() {
			return toolLine(c, p, directory, 0, false)
		}
		return "… " + terminal.OneLine(p.Tool) + " " + Subject(&p.State, directory)
	case *sdk.RetryPart:
		return c.Paint(terminal.Yellow, fmt.Sprintf("try %d failed: %s", p.Attempt, Clip(terminal.OneLine(p.Error.Error()), errorLength)))
	case *sdk.SubtaskPart:
		dim = "subtask for " + terminal.OneLine(p.Agent) + ": " + short(p.Prompt)
	case *sdk.CompactionPart:
		dim = "(summary of the conversation so far requested)"
	}
	return c.Paint(terminal.Dim, dim)
}
