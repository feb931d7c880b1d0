package sessions

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

// markdown returns a conversation as Markdown: prompts, answers, and tool calls with their outputs.
func markdown(f *transfer.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s · %s\n", terminal.OneLine(f.Info.Title), f.Info.ID, time.UnixMilli(f.Info.Time.Created).UTC().Format(time.DateTime+" UTC"))
	for i := range f.Messages {
		head := "User"
		if info, ok := f.Messages[i].Info.(*sdk.AssistantMessage); ok {
			head = "Assistant (" + info.ProviderID + "/" + info.ModelID + ")"
		}
		var body strings.Builder
		for _, p := range f.Messages[i].Parts {
			if text := markdownPart(p); text != "" {
				body.WriteString("\n" + text + "\n")
			}
		}
		if body.Len() > 0 {
			fmt.Fprintf(&b, "\n## %s\n%s", terminal.OneLine(head), body.String())
		}
	}
	return b.String()
}

// markdownPart returns a part as Markdown, or "" if it is not part of the conversation as the user saw it.
func markdownPart(p sdk.Part) string {
	switch p := p.(type) {
	case *sdk.TextPart:
		if !p.Synthetic && !p.Ignored {
			return strings.TrimSpace(terminal.Prose(p.Text))
		}
	case *sdk.FilePart:
		return "Attached: " + code(cmp.Or(p.Filename, p.Mime))
	case *sdk.ToolPart:
		out := fmt.Sprintf("**%s** %s\n\n%s", terminal.OneLine(p.Tool), p.State.Status, block("json", string(p.State.Input)))
		if result := p.State.Output + p.State.Error; result != "" { // a call has one of them
			out += "\n\n" + block("", result)
		}
		return out
	}
	return ""
}

// code returns text as a span of code.
func code(text string) string {
	return "`" + strings.ReplaceAll(terminal.OneLine(text), "`", "'") + "`"
}

// block returns text as a block of code. Its fence is longer than any in the text.
func block(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(terminal.Prose(text), "\n") + "\n" + fence
}
