package convert

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// renderedResult bounds the tool output in the text that is summarized, in bytes.
	renderedResult = 2000
	// BytesPerToken is the usual estimate if the provider gave no count.
	BytesPerToken = 4
)

// Text returns a message as text, with its role; empty for one without text, files and calls.
func Text(m *sdk.MessageWithParts) string {
	var out []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *sdk.TextPart:
			if !p.Ignored && p.Text != "" {
				out = append(out, p.Text)
			}
		case *sdk.FilePart:
			out = append(out, "[attached "+p.Filename+", "+p.Mime+"]")
		case *sdk.ToolPart:
			result := p.State.Output
			if p.State.Status == sdk.ToolError {
				result = "error: " + p.State.Error
			}
			if len(result) > renderedResult { // its end may be the failure, and the status of a command
				result = visible.Cut(result, renderedResult/2, " […] ") + visible.Tail(result, renderedResult/2)
			}
			out = append(out, fmt.Sprintf("[called %s %s]\n%s", p.Tool, p.State.Input, result))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return m.Info.Role() + ": " + strings.Join(out, "\n")
}

// fileTokens is about what servers count for an image of usual size.
const fileTokens = 1500

// Tokens guesses how many tokens a message takes.
func Tokens(m *sdk.MessageWithParts) int64 {
	n := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *sdk.TextPart:
			n += len(p.Text)
		case *sdk.ReasoningPart:
			n += len(p.Text)
		case *sdk.FilePart:
			if !IsTextMime(p.Mime) && p.Mime != MimeDirectory { // their text is another part
				n += fileTokens * BytesPerToken
			}
		case *sdk.ToolPart:
			n += len(p.State.Input)
		}
	}
	return int64(n/BytesPerToken) + ResultTokens(m)
}

// ResultTokens guesses how many tokens the results of a message's tool calls take.
func ResultTokens(m *sdk.MessageWithParts) int64 {
	n := 0
	for _, p := range m.Parts {
		if p, ok := p.(*sdk.ToolPart); ok {
			n += len(p.State.Error)
			if p.State.Time.Compacted == 0 {
				n += len(p.State.Output) + len(p.State.Attachments)*fileTokens*BytesPerToken
			}
		}
	}
	return int64(n / BytesPerToken)
}
