// Package convert turns the stored messages of a conversation into messages of a model request, and into text.
package convert

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// compactionQuestion replaces the compaction part before the summary.
	compactionQuestion = "What did we do so far?"
	// prunedOutput replaces tool output that was removed from the conversation.
	prunedOutput = "[old tool output removed to save context; run the tool again if it is needed]"
	// interruptedOutput replaces the result of a call without one.
	interruptedOutput = "[the tool call was interrupted]"
)

func modelMessage(m *sdk.MessageWithParts, model *sdk.Model) []sdk.ModelMessage {
	switch info := m.Info.(type) {
	case *sdk.UserMessage:
		if content := userContent(m.Parts, model); len(content) > 0 {
			return []sdk.ModelMessage{{Role: sdk.RoleUser, Content: content}}
		}
	case *sdk.AssistantMessage:
		return assistantMessages(info, m.Parts, model)
	}
	return nil
}

// Cache keeps the converted finished messages of a turn, so that a late step does not repeat the work of all earlier steps.
type Cache struct {
	model    sdk.ModelRef
	messages map[sdk.Message][]sdk.ModelMessage
}

// Messages turns stored messages into the model's. Every tool call gets exactly one result. Finished messages must not change, and must have the
// same pointers each time: they are the conversation's, unless the cache is used once.
func (c *Cache) Messages(messages []sdk.MessageWithParts, model *sdk.Model) []sdk.ModelMessage {
	if c.messages == nil || c.model != model.Ref() {
		c.model, c.messages = model.Ref(), map[sdk.Message][]sdk.ModelMessage{}
	}
	out := make([]sdk.ModelMessage, 0, len(messages)*2)
	for i := range messages {
		m := &messages[i]
		made, known := c.messages[m.Info]
		if !known {
			made = modelMessage(m, model)
			if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Time.Completed != 0 {
				c.messages[m.Info] = made
			}
		}
		out = append(out, made...)
	}
	return out
}

func userContent(parts sdk.Parts, model *sdk.Model) []sdk.ModelContent {
	var out []sdk.ModelContent
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.TextPart:
			if !p.Ignored && p.Text != "" {
				out = append(out, sdk.ModelContent{Type: sdk.ContentText, Text: p.Text})
			}
		case *sdk.FilePart:
			if c, ok := fileContent(p, model); ok {
				out = append(out, c)
			}
		case *sdk.CompactionPart:
			out = append(out, sdk.ModelContent{Type: sdk.ContentText, Text: compactionQuestion})
		case *sdk.SubtaskPart:
			out = append(out, sdk.ModelContent{Type: sdk.ContentText, Text: "The user asked the subagent " + p.Agent + ": " + p.Description})
		}
	}
	return out
}

// fileContent returns a file for the model, at a data: URL in base64, or a text with the reason why the model does not get it. It returns false for
// text files, whose text is already in the prompt. Other addresses come from plugins and imported sessions only: the model's server would send
// requests to them.
func fileContent(p *sdk.FilePart, m *sdk.Model) (sdk.ModelContent, bool) {
	if IsTextMime(p.Mime) || p.Mime == MimeDirectory {
		return sdk.ModelContent{}, false
	}
	leftOut := func(typ, why string) (sdk.ModelContent, bool) {
		return sdk.ModelContent{Type: sdk.ContentText, Text: fmt.Sprintf("[%s of type %s left out: %s. Tell the user.]", p.Filename, typ, why)}, true
	}
	header, data, encoded := strings.Cut(p.URL, ";base64,")
	inline := encoded && (kindOf(p.Mime) == "image" || kindOf(p.Mime) == "pdf")
	found := p.Mime
	if inline {
		found = typeOf(data)
	}
	if typ := cmp.Or(found, p.Mime); !model.TakesInput(m, kindOf(typ)) {
		return leftOut(typ, fmt.Sprintf("the model %s does not accept it", m.Ref()))
	}
	switch {
	case found == "":
		return leftOut(p.Mime, "models cannot read its content")
	case !encoded || !strings.HasPrefix(header, "data:"):
		return leftOut(p.Mime, "its address cannot be sent to the model")
	}
	_, extension, _ := strings.Cut(found, "/")
	name := cmp.Or(p.Filename, "file."+extension) // servers demand names of PDFs
	c := sdk.ModelContent{Type: sdk.ContentFile, Mime: found, Filename: name, URL: p.URL}
	broken := strings.ContainsAny(data, "\r\n") // broken into lines, which providers refuse
	// Copy the URL only if necessary: it can have megabytes.
	if start := "data:" + found; inline && (broken || header != start) {
		c.URL = start + ";base64," + strings.NewReplacer("\r", "", "\n", "").Replace(data)
	}
	return c, true
}

// kindOf returns the kind of input that files of a type are.
func kindOf(mime string) string {
	if mime == "application/pdf" {
		return "pdf"
	}
	kind, _, _ := strings.Cut(mime, "/")
	return kind
}

// typeOf returns the type of an image or a PDF in base64 by its content; "" if models do not read it. Providers refuse every later request of a
// session that contains a file of another type than the named one, and tools of servers and plugins may name any type.
func typeOf(data string) string {
	const head = 512 // bytes that show the type
	content, err := io.ReadAll(io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), head))
	if err != nil {
		return ""
	}
	return media.Detect(content)
}

// assistantMessages returns one step: the text and calls of the model, then the results of the calls.
func assistantMessages(info *sdk.AssistantMessage, parts sdk.Parts, model *sdk.Model) []sdk.ModelMessage {
	if info.Error != nil && info.Error.Name != sdk.ErrorAborted && !live.HasResults(parts) {
		return nil
	}
	same := info.ProviderID == model.ProviderID && info.ModelID == model.ID
	var out []sdk.ModelMessage
	var said, results []sdk.ModelContent
	// Metadata is for the same provider and model only. Another model gets reasoning as plain text. An empty text can carry a signature.
	say := func(c sdk.ModelContent) {
		if !same {
			c.Metadata = nil
		}
		if !same && c.Type == sdk.ContentReasoning {
			c.Type = sdk.ContentText
		}
		if c.Type == sdk.ContentToolCall || c.Text != "" || len(c.Metadata) > 0 {
			said = append(said, c)
		}
	}
	for _, p := range parts {
		if live.Ignored(p) {
			continue
		}
		switch p := p.(type) {
		case *sdk.TextPart:
			say(sdk.ModelContent{Type: sdk.ContentText, Text: p.Text, Metadata: p.Metadata})
		case *sdk.ReasoningPart:
			say(sdk.ModelContent{Type: sdk.ContentReasoning, Text: p.Text, Metadata: p.Metadata})
		case *sdk.ToolPart:
			args := p.State.Input
			if len(args) == 0 || args[0] != '{' {
				args = json.RawMessage("{}")
			}
			say(sdk.ModelContent{Type: sdk.ContentToolCall, CallID: p.CallID, Tool: p.Tool, Args: args, Metadata: p.Metadata})
			results = append(results, toolResultContent(p, model))
		}
	}
	if len(said) > 0 {
		out = append(out, sdk.ModelMessage{Role: sdk.RoleAssistant, Content: said})
	}
	if len(results) > 0 {
		out = append(out, sdk.ModelMessage{Role: sdk.RoleTool, Content: results})
	}
	return out
}

func toolResultContent(p *sdk.ToolPart, model *sdk.Model) sdk.ModelContent {
	c := sdk.ModelContent{Type: sdk.ContentToolResult, CallID: p.CallID, Tool: p.Tool}
	switch p.State.Status {
	case sdk.ToolCompleted:
		c.Text = p.State.Output
		if p.State.Time.Compacted != 0 {
			c.Text = prunedOutput
			return c
		}
		for _, f := range p.State.Attachments {
			content, ok := fileContent(f, model)
			switch {
			case !ok:
				c.Text += "\n" + textFile(f)
			case content.Type == sdk.ContentText:
				c.Text += "\n" + content.Text
			default:
				file := *f
				file.Mime, file.Filename, file.URL = content.Mime, content.Filename, content.URL
				c.Files = append(c.Files, &file)
			}
		}
	case sdk.ToolError:
		c.Text, c.IsError = p.State.Error, true
	default:
		c.Text, c.IsError = interruptedOutput, true
	}
	return c
}

// The types of text files and directories.
const (
	MimeText      = "text/plain"
	MimeDirectory = "application/x-directory"
)

// textFile returns the text of a text file for the model, or the reason why there is none.
func textFile(f *sdk.FilePart) string {
	_, data, _ := strings.Cut(f.URL, ";base64,")
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(text) == 0 || !strings.HasPrefix(f.URL, "data:") {
		return fmt.Sprintf("[%s of type %s left out: the message does not contain its content]", f.Filename, f.Mime)
	}
	return fmt.Sprintf("<file name=%q>\n%s\n</file>", f.Filename, strings.ToValidUTF8(string(text), "\uFFFD"))
}

// IsTextMime reports whether files of the type are text.
func IsTextMime(typ string) bool { return strings.HasPrefix(typ, "text/") }
