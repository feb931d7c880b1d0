package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/openai/internal/api"
	"github.com/tenonhq/tenon/sdk"
)

// message is a message of Chat Completions. Content is a string, []part or nil.
type message struct {
	Role             string     `json:"role"`
	Content          any        `json:"content"`
	ReasoningContent *string    `json:"reasoning_content,omitempty"`
	ReasoningText    string     `json:"reasoning_text,omitempty"`
	ReasoningOpaque  string     `json:"reasoning_opaque,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningDetails []any      `json:"reasoning_details,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	Name             string     `json:"name,omitempty"` // of the tool, for Mistral

	Cache        *cacheControl `json:"cache_control,omitempty"`
	CopilotCache *cacheControl `json:"copilot_cache_control,omitempty"`
}

// cacheControl marks the end of a prefix that the server caches.
type cacheControl struct {
	Type string `json:"type"`
}

type toolCall struct {
	ID           string   `json:"id"`
	Type         string   `json:"type"`
	Function     function `json:"function"`
	ExtraContent any      `json:"extra_content,omitempty"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL *image `json:"image_url,omitempty"`
	File     *file  `json:"file,omitempty"`

	Cache *cacheControl `json:"cache_control,omitempty"`
}

type image struct {
	URL string `json:"url"`
}

type file struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

type tool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Body encodes a request for Chat Completions.
func (c client) Body(req *sdk.ModelRequest) ([]byte, error) {
	var b wire.Body
	b.Set("model", wire.APIName(&req.Model))
	messages := c.messages(req)
	c.mark(req, messages)
	b.Set("messages", messages)
	if list := wire.Tools(&c.Info, req); len(list) > 0 {
		tools := make([]tool, len(list))
		for i := range list {
			t := &list[i]
			tools[i] = tool{"function", toolFunction{t.ID, t.Description, c.Parameters(&req.Model, t)}}
		}
		b.Set("tools", tools)
	}
	limit := "max_tokens"
	if c.OpenAI || api.Reasons(&req.Model) {
		limit = "max_completion_tokens"
	}
	c.SetParams(&b, req, limit)
	b.Set("stream", true)
	if c.IncludeUsage {
		b.Set("stream_options", sdk.Object{"include_usage": true})
	}
	b.Merge(wire.Renamed(req.Params.Options, api.OptionNames(false)))
	return b.Encode(wire.SizeOf(req))
}

func (c client) messages(req *sdk.ModelRequest) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if len(req.System) > 0 {
		role := "system"
		if c.OpenAI && api.Reasons(&req.Model) {
			role = "developer"
		}
		out = append(out, message{Role: role, Content: strings.Join(req.System, "\n\n")})
	}
	var said []sdk.ModelContent // by the user, in the last message
	say := func(contents []sdk.ModelContent) {
		if n := len(out); n > 0 && out[n-1].Role == sdk.RoleUser { // after an interrupted answer; templates of local models refuse two user messages in a row
			out, contents = out[:n-1], slices.Concat(said, contents)
		}
		if n := len(out); n > 0 && out[n-1].Role == sdk.RoleTool && c.shortIDs(&req.Model) { // Mistral refuses the user's words there
			out = append(out, message{Role: sdk.RoleAssistant, Content: "Done."})
		}
		said = contents
		out = append(out, message{Role: sdk.RoleUser, Content: contentOf(contents)})
	}
	turn := turnStart(req.Messages)
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case sdk.RoleAssistant:
			if msg, ok := c.assistant(&req.Model, m, i > turn); ok {
				out = append(out, msg)
			}
		case sdk.RoleTool:
			out = c.results(out, &req.Model, m)
			if files := wire.ResultFiles(m.Content); files != nil {
				say(files)
			}
		default:
			say(m.Content)
		}
	}
	return out
}

// turnStart returns the index of the last user message, or -1. The assistant messages after it belong to the
// current turn.
func turnStart(messages []sdk.ModelMessage) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == sdk.RoleUser {
			return i
		}
	}
	return -1
}

// contentOf returns a string if the content is only text, because every server accepts a string.
func contentOf(contents []sdk.ModelContent) any {
	parts := wire.Said(contents, textPart, filePart)
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Type != "text" {
			return parts
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

func textPart(s string) part { return part{Type: "text", Text: s} }

func filePart(f *sdk.FilePart) part {
	switch {
	case wire.Image(f):
		return part{Type: "image_url", ImageURL: &image{f.URL}}
	case f.Mime != wire.PDF:
		return textPart(wire.Unsupported(f))
	}
	return part{Type: "file", File: &file{f.Filename, f.URL}}
}

// assistant returns an earlier answer of the model, or false if it would be empty: Moonshot and DeepSeek refuse one that has only reasoning, such
// as an interrupted one.
func (c client) assistant(model *sdk.Model, m *sdk.ModelMessage, inTurn bool) (message, bool) {
	msg := message{Role: sdk.RoleAssistant}
	to := c.ReasoningField
	if to == api.ReasoningAuto && model.ReasoningField != "" && c.Info.NPM != api.OpenRouter {
		to = model.ReasoningField
	}
	if to == "reasoning_content" {
		msg.ReasoningContent = new(string) // DeepSeek refuses a message of the turn without it
	}
	var texts []string
	for i := range m.Content {
		content := &m.Content[i]
		switch content.Type {
		case sdk.ContentText:
			texts = append(texts, content.Text)
		case sdk.ContentReasoning:
			reasoningBack(&msg, content, to, inTurn)
		case sdk.ContentToolCall:
			msg.ToolCalls = append(msg.ToolCalls, toolCall{
				ID:           c.callID(model, content.CallID),
				Type:         "function",
				Function:     function{wire.ToolName(content.Tool), api.ArgumentsText(content.Args)},
				ExtraContent: content.Metadata[metaExtra],
			})
		}
	}
	text := strings.Join(texts, "\n\n")
	if strings.TrimSpace(text) == "" {
		text = "" // Claude refuses blank texts, even behind gateways
	}
	if text != "" || len(msg.ToolCalls) == 0 {
		msg.Content = text
	}
	return msg, text != "" || len(msg.ToolCalls) > 0
}

// reasoningBack sends reasoning back in the field that the server requires. By default, servers that send reasoning_content get it back during the
// turn: they refuse or ignore it later. OpenRouter and Copilot always require the fields that they sent. Other servers refuse unknown fields.
func reasoningBack(msg *message, content *sdk.ModelContent, to string, inTurn bool) {
	from, _ := content.Metadata[metaField].(string)
	if to == api.ReasoningAuto {
		to = api.ReasoningNone
		if from == "reasoning_details" || from == "reasoning_text" || (from == "reasoning_content" && inTurn) {
			to = from
		}
	}
	switch to {
	case "reasoning_details":
		details, _ := content.Metadata[metaDetails].([]any)
		msg.ReasoningDetails = append(msg.ReasoningDetails, details...)
	case "reasoning_content":
		if msg.ReasoningContent == nil {
			msg.ReasoningContent = new(string)
		}
		*msg.ReasoningContent += content.Text
	case "reasoning":
		msg.Reasoning += content.Text
	case "reasoning_text":
		msg.ReasoningText += content.Text
		if opaque, ok := content.Metadata[metaOpaque].(string); ok {
			msg.ReasoningOpaque = opaque
		}
	}
}

// results appends one message per tool result.
func (c client) results(out []message, model *sdk.Model, m *sdk.ModelMessage) []message {
	for i := range m.Content {
		content := &m.Content[i]
		msg := message{Role: sdk.RoleTool, Content: wire.Output(content.Text), ToolCallID: c.callID(model, content.CallID)}
		if c.Info.NPM == api.Mistral {
			msg.Name = wire.ToolName(content.Tool)
		}
		out = append(out, msg)
	}
	return out
}

// callID returns the ID in the form the server requires. Mistral accepts only nine letters and digits, OpenAI at most 64 bytes, and other
// models of the same conversation use longer IDs.
func (c client) callID(m *sdk.Model, id string) string {
	short := c.shortIDs(m)
	switch {
	case !short && c.OpenAI:
		return wire.Shorten(id)
	case !short || len(id) == api.MistralCallID && strings.Trim(id, letters) == "":
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:api.MistralCallID]
}

// shortIDs reports whether the model's server demands call IDs of Mistral's form. Mistral's models demand it behind gateways, too.
func (c client) shortIDs(m *sdk.Model) bool {
	name := strings.ToLower(wire.APIName(m))
	return c.Info.NPM == api.Mistral || slices.ContainsFunc(mistralNames, func(family string) bool { return strings.Contains(name, family) })
}

// mistralNames are parts of the names of Mistral's models, see opencode's provider/transform.ts.
var mistralNames = []string{"mistral", "mixtral", "devstral", "codestral", "pixtral"}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
