package anthropic

import (
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Keys of the metadata of reasoning and text.
const (
	metaSignature = "signature" // of a thinking block
	metaRedacted  = "redacted"  // the data of a redacted_thinking block
	metaCitations = "citations" // of a text; not sent back
)

// messages returns the conversation.
func (c *client) messages(req *sdk.ModelRequest, claude, mark bool) []wire.Message[block] {
	blocks := wire.Blocks[block]{
		Text: text, Reasoning: thinking, Separators: true,
		File: func(f *sdk.FilePart) block { return c.file(f, claude) },
		Call: func(call *sdk.ModelContent) block {
			return block{Type: "tool_use", ID: callID(call.CallID, claude), Name: wire.ToolName(call.Tool), Input: wire.Object(call.Args)}
		},
		Results: func(m *sdk.ModelMessage) []block { return c.results(m, claude) },
	}
	if mark {
		blocks.Mark = markLast
	}
	return blocks.Turns(req)
}

func text(s string) block { return block{Type: "text", Text: s} }

// markLast marks the last block that can have a mark. Thinking blocks cannot.
func markLast(content []block) []block {
	for i := len(content) - 1; i >= 0; i-- {
		if content[i].Type != "thinking" && content[i].Type != "redacted_thinking" {
			content[i].Cache = ephemeral(true)
			break
		}
	}
	return content
}

// file returns an image or a document, or a text with the reason why the file cannot be sent.
func (c *client) file(f *sdk.FilePart, claude bool) block {
	data := wire.Base64(f.URL)
	from := &source{Type: "base64", MediaType: f.Mime, Data: data}
	switch {
	case wire.Image(f):
		limit := 10 << 20
		if c.vertex {
			limit = 5 << 20
		}
		if claude {
			if instead := wire.OversizedImage(f.Filename, data, limit); instead != "" {
				return text(instead)
			}
		}
		return block{Type: "image", Source: from}
	case f.Mime == wire.PDF:
		return block{Type: "document", Title: f.Filename, Source: from}
	}
	return text(wire.Unsupported(f))
}

// thinking returns reasoning that the server signed.
func thinking(content *sdk.ModelContent) (block, bool) {
	if data, _ := content.Metadata[metaRedacted].(string); data != "" {
		return block{Type: "redacted_thinking", Data: data}, true
	}
	signature, _ := content.Metadata[metaSignature].(string)
	return block{Type: "thinking", Thinking: &content.Text, Signature: signature}, signature != ""
}

// results returns the results of tool calls with their files.
func (c *client) results(m *sdk.ModelMessage, claude bool) []block {
	var out []block
	for i := range m.Content {
		content := &m.Content[i]
		inner := []block{text(wire.Output(content.Text))}
		for _, f := range content.Files {
			inner = append(inner, c.file(f, claude))
		}
		out = append(out, block{Type: "tool_result", ToolUseID: callID(content.CallID, claude), Content: inner, IsError: content.IsError})
	}
	return out
}

// callID returns the ID in the form that Claude requires. Other models get the IDs that they gave, as in opencode: Kimi's contain a dot and
// a colon, and the model relies on them.
func callID(id string, claude bool) string {
	if !claude {
		return id
	}
	return wire.CallID(id)
}
