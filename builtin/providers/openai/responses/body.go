package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/openai/internal/api"
	"github.com/tenonhq/tenon/sdk"
)

// inputItem is an input item of a Responses request. Type determines which fields are set.
type inputItem struct {
	Type      string      `json:"type"`
	Role      string      `json:"role,omitempty"`
	Content   []inputPart `json:"content,omitempty"`
	Phase     any         `json:"phase,omitempty"`
	CallID    string      `json:"call_id,omitempty"`
	Name      string      `json:"name,omitempty"`
	Arguments string      `json:"arguments,omitempty"`
	Output    any         `json:"output,omitempty"` // a text, or a list of []inputPart
}

// Keys of the metadata of reasoning and text, which later requests contain.
const (
	metaItem   = "itemID"    // of a reasoning item
	metaSecret = "encrypted" // the encrypted reasoning of an item
	metaPhase  = "phase"     // of a message
)

// reasoningItem is the model's reasoning, encrypted by the server.
type reasoningItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id,omitempty"`
	Summary   []inputPart `json:"summary"`
	Encrypted string      `json:"encrypted_content"`
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always false: strict schemas cannot have optional properties.
	Strict bool `json:"strict"`
}

// Body encodes a request for the Responses protocol. The server stores nothing: each request contains
// the whole conversation.
func (c client) Body(req *sdk.ModelRequest) ([]byte, error) {
	var b wire.Body
	b.Set("model", wire.APIName(&req.Model))
	if len(req.System) > 0 {
		b.Set("instructions", strings.Join(req.System, "\n\n"))
	}
	b.Set("input", c.input(req))
	if len(req.Tools) > 0 {
		tools := make([]tool, len(req.Tools))
		for i := range req.Tools {
			t := &req.Tools[i]
			tools[i] = tool{Type: "function", Name: t.ID, Description: t.Description, Parameters: c.Parameters(&req.Model, t)}
		}
		b.Set("tools", tools)
	}
	c.SetParams(&b, req, "max_output_tokens")
	b.Set("store", false)
	if req.Model.Reasoning || api.Reasons(&req.Model) && !strings.Contains(wire.APIName(&req.Model), "-chat") { // the chat models refuse the field
		b.Set("include", []string{"reasoning.encrypted_content"})
	}
	b.Set("stream", true)
	b.Merge(wire.Renamed(req.Params.Options, api.OptionNames(true)))
	return b.Encode(wire.SizeOf(req))
}

func (c client) input(req *sdk.ModelRequest) []any {
	out := make([]any, 0, len(req.Messages))
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case sdk.RoleAssistant:
			out = appendOutputItems(out, m)
		case sdk.RoleTool:
			out = appendResultItems(out, m, c.filesInResults(m))
		default:
			if parts := inputParts(m.Content); len(parts) > 0 {
				out = append(out, inputItem{Type: "message", Role: m.Role, Content: parts})
			}
		}
	}
	return out
}

func inputParts(contents []sdk.ModelContent) []inputPart {
	return wire.Said(contents, inputText, newInputPart)
}

func inputText(s string) inputPart { return inputPart{Type: "input_text", Text: s} }

func newInputPart(f *sdk.FilePart) inputPart {
	switch {
	case wire.Image(f):
		return inputPart{Type: "input_image", ImageURL: f.URL}
	case f.Mime != wire.PDF:
		return inputText(wire.Unsupported(f))
	}
	return inputPart{Type: "input_file", Filename: f.Filename, FileData: f.URL}
}

// appendOutputItems appends an earlier answer of the model. Reasoning is sent back only if the server encrypted it.
func appendOutputItems(out []any, m *sdk.ModelMessage) []any {
	for i := range m.Content {
		content := &m.Content[i]
		switch content.Type {
		case sdk.ContentText:
			if content.Text != "" {
				part := inputPart{Type: "output_text", Text: content.Text}
				out = append(out, inputItem{Type: "message", Role: sdk.RoleAssistant, Content: []inputPart{part}, Phase: content.Metadata[metaPhase]})
			}
		case sdk.ContentReasoning:
			sealed, _ := content.Metadata[metaSecret].(string)
			if sealed == "" {
				continue
			}
			id, _ := content.Metadata[metaItem].(string)
			item := reasoningItem{Type: "reasoning", ID: id, Summary: []inputPart{}, Encrypted: sealed}
			if content.Text != "" {
				item.Summary = append(item.Summary, inputPart{Type: "summary_text", Text: content.Text})
			}
			out = append(out, item)
		case sdk.ContentToolCall:
			out = append(out, inputItem{
				Type: "function_call", CallID: wire.Shorten(content.CallID), Name: wire.ToolName(content.Tool), Arguments: api.ArgumentsText(content.Args),
			})
		}
	}
	for n := len(out); n > 0; n-- { // an interrupted answer: OpenAI refuses reasoning without the item that it led to
		if _, ok := out[n-1].(reasoningItem); !ok {
			return out[:n]
		}
	}
	return out[:0]
}

// filesInResults reports whether the server accepts files inside the results of tools. xAI accepts only images there.
func (c client) filesInResults(m *sdk.ModelMessage) bool {
	if c.Info.NPM == "@ai-sdk/xai" {
		other := func(f *sdk.FilePart) bool { return !wire.Image(f) }
		return !slices.ContainsFunc(m.Content, func(c sdk.ModelContent) bool { return slices.ContainsFunc(c.Files, other) })
	}
	return c.OpenAI || slices.Contains([]string{"@ai-sdk/openai", api.Azure, "@ai-sdk/amazon-bedrock/mantle"}, c.Info.NPM)
}

// appendResultItems appends the results of tool calls. Their files go into the results if within is set, else
// into a message after them.
func appendResultItems(out []any, m *sdk.ModelMessage, within bool) []any {
	for i := range m.Content {
		content := &m.Content[i]
		item := inputItem{Type: "function_call_output", CallID: wire.Shorten(content.CallID), Output: wire.Output(content.Text)}
		if within && len(content.Files) > 0 {
			parts := []inputPart{inputText(wire.Output(content.Text))}
			for _, f := range content.Files {
				parts = append(parts, newInputPart(f))
			}
			item.Output = parts
		}
		out = append(out, item)
	}
	if files := wire.ResultFiles(m.Content); files != nil && !within {
		out = append(out, inputItem{Type: "message", Role: sdk.RoleUser, Content: inputParts(files)})
	}
	return out
}
