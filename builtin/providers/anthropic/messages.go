package anthropic

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Keys of the metadata of reasoning and text.
const (
	metaSignature = "signature" // of a thinking block
	metaRedacted  = "redacted"  // the data of a redacted_thinking block
	metaCitations = "citations" // of a text; not sent back
)

// markedMessages is the number of messages at the end of a conversation that are marked for the cache.
const markedMessages = 2

// messages returns the conversation. User and assistant take turns: consecutive messages of one role become one.
func (c *client) messages(req *sdk.ModelRequest, claude, mark bool) []message {
	var out []message
	for i := range req.Messages {
		m := &req.Messages[i]
		role := sdk.RoleUser
		var content []block
		switch m.Role {
		case sdk.RoleAssistant:
			role, content = sdk.RoleAssistant, c.assistant(m, claude, i == len(req.Messages)-1)
		case sdk.RoleTool:
			content = c.results(&req.Model, m, claude)
		default:
			content = c.user(&req.Model, m.Content)
		}
		if len(content) == 0 {
			continue
		}
		if mark && i >= len(req.Messages)-markedMessages {
			markLast(content)
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, content...)
			continue
		}
		out = append(out, message{role, content})
	}
	return out
}

// markLast marks the last block that takes a mark: thinking takes none.
func markLast(content []block) {
	for i := len(content) - 1; i >= 0; i-- {
		if content[i].Type != "thinking" && content[i].Type != "redacted_thinking" {
			content[i].Cache = ephemeral(true)
			return
		}
	}
}

func (c *client) user(m *sdk.Model, contents []sdk.ModelContent) []block {
	var out []block
	for i := range contents {
		content := &contents[i]
		switch content.Type {
		case sdk.ContentText:
			if content.Text != "" {
				out = append(out, block{Type: "text", Text: content.Text})
			}
		case sdk.ContentFile:
			out = append(out, c.file(wire.NewAttachment(m, content.Mime, content.Filename, content.URL)))
		}
	}
	return out
}

// file returns an image or a document, or a text with the reason why the file cannot be sent.
func (c *client) file(a wire.Attachment) block {
	data, isData := wire.Base64(a.URL)
	from := &source{Type: "base64", MediaType: a.Mime, Data: data}
	if !isData {
		from = &source{Type: "url", URL: a.URL}
	}
	switch {
	case a.Kind == wire.KindText:
		return block{Type: "text", Text: a.Text}
	case !isData && c.vertex:
		a = wire.Notice("%s is at %s", a.Name, a.URL) // Vertex AI fetches nothing
		return block{Type: "text", Text: a.Text}
	case a.Kind == wire.KindImage:
		return block{Type: "image", Source: from}
	case a.Mime == "application/pdf":
		return block{Type: "document", Title: a.Name, Source: from}
	}
	a = wire.Notice("%s cannot be shown: this model takes no files of type %s. Tell the user.", a.Name, a.Mime)
	return block{Type: "text", Text: a.Text}
}

// assistant returns an earlier answer of the model. Reasoning is sent back only with its signature, unchanged and in place.
func (c *client) assistant(m *sdk.ModelMessage, claude, last bool) []block {
	var out []block
	for i := range m.Content {
		content := &m.Content[i]
		switch content.Type {
		case sdk.ContentText:
			text := content.Text
			if last && i == len(m.Content)-1 {
				text = strings.TrimRight(text, " \t\r\n") // the server refuses white space at the end of the conversation
			}
			if text != "" {
				out = append(out, block{Type: "text", Text: text})
			}
		case sdk.ContentReasoning:
			if b, ok := thinking(content); ok {
				out = append(out, b)
			}
		case sdk.ContentToolCall:
			args := content.Args
			if !json.Valid(args) || len(args) == 0 || args[0] != '{' {
				args = json.RawMessage("{}")
			}
			out = append(out, block{Type: "tool_use", ID: callID(content.CallID, claude), Name: wire.ToolName(content.Tool), Input: args})
		}
	}
	return out
}

func thinking(content *sdk.ModelContent) (block, bool) {
	if data, _ := content.Metadata[metaRedacted].(string); data != "" {
		return block{Type: "redacted_thinking", Data: data}, true
	}
	signature, _ := content.Metadata[metaSignature].(string)
	return block{Type: "thinking", Thinking: &content.Text, Signature: signature}, signature != ""
}

// results returns the results of tool calls with their files.
func (c *client) results(model *sdk.Model, m *sdk.ModelMessage, claude bool) []block {
	var out []block
	for i := range m.Content {
		content := &m.Content[i]
		if content.Type != sdk.ContentToolResult {
			continue
		}
		inner := []block{{Type: "text", Text: cmp.Or(content.Text, wire.NoOutput)}}
		for _, f := range content.Files {
			inner = append(inner, c.file(wire.NewAttachment(model, f.Mime, f.Filename, f.URL)))
		}
		out = append(out, block{Type: "tool_result", ToolUseID: callID(content.CallID, claude), Content: inner, IsError: content.IsError})
	}
	return out
}

// callID returns the ID in the form that Claude accepts: calls of other models can have other IDs.
func callID(id string, claude bool) string {
	if !claude {
		return id
	}
	return wire.CallID(id)
}
