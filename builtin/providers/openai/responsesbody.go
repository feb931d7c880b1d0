package openai

import (
	"cmp"
	"encoding/json"
	"strings"

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
	Output    string      `json:"output,omitempty"`
}

// reasoningItem is the model's reasoning, encrypted by the server.
type reasoningItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id,omitempty"`
	Summary   []inputPart `json:"summary"`
	Encrypted string      `json:"encrypted_content"`
}

type inputPart struct {
	Type       string     `json:"type"`
	Text       string     `json:"text,omitempty"`
	ImageURL   string     `json:"image_url,omitempty"`
	InputAudio *chatAudio `json:"input_audio,omitempty"`
	Filename   string     `json:"filename,omitempty"`
	FileData   string     `json:"file_data,omitempty"`
	FileURL    string     `json:"file_url,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always false: strict schemas cannot have optional properties.
	Strict bool `json:"strict"`
}

// responsesBody encodes a request for the Responses protocol. The server stores nothing: each request contains
// the whole conversation.
func (c *client) responsesBody(req *sdk.ModelRequest) ([]byte, error) {
	var b body
	b.set("model", apiName(&req.Model))
	if len(req.System) > 0 {
		b.set("instructions", strings.Join(req.System, "\n\n"))
	}
	b.set("input", responsesInput(req))
	if len(req.Tools) > 0 {
		tools := make([]responsesTool, len(req.Tools))
		for i := range req.Tools {
			t := &req.Tools[i]
			tools[i] = responsesTool{Type: "function", Name: t.ID, Description: t.Description, Parameters: parameters(t)}
		}
		b.set("tools", tools)
	}
	c.setParams(&b, req, "max_output_tokens")
	b.set("store", false)
	if req.Model.Reasoning {
		b.set("include", []string{"reasoning.encrypted_content"})
	}
	b.set("stream", true)
	b.merge(wireOptions(req.Params.Options, true))
	return b.encode(sizeOf(req))
}

func responsesInput(req *sdk.ModelRequest) []any {
	out := make([]any, 0, len(req.Messages))
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case sdk.RoleAssistant:
			out = appendOutputItems(out, m)
		case sdk.RoleTool:
			out = appendResultItems(out, &req.Model, m)
		default:
			if parts := inputParts(&req.Model, m.Content); len(parts) > 0 {
				out = append(out, inputItem{Type: "message", Role: m.Role, Content: parts})
			}
		}
	}
	return out
}

func inputParts(m *sdk.Model, contents []sdk.ModelContent) []inputPart {
	parts := make([]inputPart, 0, len(contents))
	for i := range contents {
		content := &contents[i]
		switch content.Type {
		case sdk.ContentText:
			parts = append(parts, inputPart{Type: "input_text", Text: content.Text})
		case sdk.ContentFile:
			parts = append(parts, newInputPart(newAttachment(m, content.Mime, content.Filename, content.URL)))
		}
	}
	return parts
}

func newInputPart(a attachment) inputPart {
	isData := strings.HasPrefix(a.url, "data:")
	switch {
	case a.kind == kindImage:
		return inputPart{Type: "input_image", ImageURL: a.url}
	case a.kind == kindAudio:
		_, data, _ := strings.Cut(a.url, ",")
		return inputPart{Type: "input_audio", InputAudio: &chatAudio{data, audioFormat(a.mime)}}
	case a.kind == kindFile && isData:
		return inputPart{Type: "input_file", Filename: a.name, FileData: a.url}
	case a.kind == kindFile:
		return inputPart{Type: "input_file", FileURL: a.url}
	}
	return inputPart{Type: "input_text", Text: a.text}
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
				Type: "function_call", CallID: content.CallID, Name: content.Tool, Arguments: argumentsText(content.Args),
			})
		}
	}
	return out
}

// appendResultItems appends the results of tool calls, and a message with their attachments.
func appendResultItems(out []any, model *sdk.Model, m *sdk.ModelMessage) []any {
	for i := range m.Content {
		content := &m.Content[i]
		if content.Type != sdk.ContentToolResult {
			continue
		}
		out = append(out, inputItem{Type: "function_call_output", CallID: content.CallID, Output: cmp.Or(content.Text, noOutput)})
	}
	if files := resultFiles(m.Content); files != nil {
		out = append(out, inputItem{Type: "message", Role: sdk.RoleUser, Content: inputParts(model, files)})
	}
	return out
}
