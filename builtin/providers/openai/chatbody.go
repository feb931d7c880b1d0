package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/sdk"
)

// chatMessage is a message of Chat Completions. Content is a string, []chatPart or nil.
type chatMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningDetails []any      `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID           string       `json:"id"`
	Type         string       `json:"type"`
	Function     chatFunction `json:"function"`
	ExtraContent any          `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatPart struct {
	Type       string     `json:"type"`
	Text       string     `json:"text,omitempty"`
	ImageURL   *chatImage `json:"image_url,omitempty"`
	InputAudio *chatAudio `json:"input_audio,omitempty"`
	File       *chatFile  `json:"file,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type chatFile struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

type chatTool struct {
	Type     string           `json:"type"`
	Function chatToolFunction `json:"function"`
}

type chatToolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatBody encodes a request for Chat Completions.
func (c *client) chatBody(req *sdk.ModelRequest) ([]byte, error) {
	var b body
	b.set("model", apiName(&req.Model))
	b.set("messages", c.chatMessages(req))
	if len(req.Tools) > 0 {
		tools := make([]chatTool, len(req.Tools))
		for i := range req.Tools {
			t := &req.Tools[i]
			tools[i] = chatTool{"function", chatToolFunction{t.ID, t.Description, parameters(t)}}
		}
		b.set("tools", tools)
	}
	c.setParams(&b, req, c.maxTokensField(&req.Model))
	b.set("stream", true)
	if c.includeUsage {
		b.set("stream_options", sdk.Object{"include_usage": true})
	}
	b.merge(wireOptions(req.Params.Options, false))
	return b.encode(sizeOf(req))
}

// setParams sets the fields that have the same name in both protocols, and the output limit under the name maxTokens.
func (c *client) setParams(b *body, req *sdk.ModelRequest, maxTokens string) {
	p := &req.Params
	if len(req.Tools) > 0 && req.ToolChoice != "" && req.ToolChoice != sdk.ToolChoiceAuto {
		b.set("tool_choice", req.ToolChoice)
	}
	if p.Temperature != nil {
		b.set("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		b.set("top_p", *p.TopP)
	}
	if p.MaxOutputTokens > 0 {
		b.set(maxTokens, p.MaxOutputTokens)
	}
	if c.cacheKey && req.SessionID != "" {
		b.set("prompt_cache_key", req.SessionID)
	}
}

// maxTokensField returns the name of the output limit: OpenAI's reasoning models refuse the older name, and most
// other servers accept no other.
func (c *client) maxTokensField(m *sdk.Model) string {
	name := path.Base(apiName(m))
	reasons := func(family string) bool { return strings.HasPrefix(name, family) }
	if c.openAI || slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, reasons) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func (c *client) chatMessages(req *sdk.ModelRequest) []chatMessage {
	out := make([]chatMessage, 0, len(req.Messages)+1)
	if len(req.System) > 0 {
		out = append(out, chatMessage{Role: "system", Content: strings.Join(req.System, "\n\n")})
	}
	turn := turnStart(req.Messages)
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case sdk.RoleAssistant:
			if msg, ok := c.chatAssistant(m, i > turn); ok {
				out = append(out, msg)
			}
		case sdk.RoleTool:
			out = c.chatResults(out, &req.Model, m)
		default:
			out = append(out, chatMessage{Role: m.Role, Content: chatContent(&req.Model, m.Content)})
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

// chatContent returns a string if the content is only text: every server accepts that.
func chatContent(m *sdk.Model, contents []sdk.ModelContent) any {
	if len(contents) == 1 && contents[0].Type == sdk.ContentText {
		return contents[0].Text
	}
	parts := make([]chatPart, 0, len(contents))
	texts := make([]string, 0, len(contents))
	for i := range contents {
		part, ok := newChatPart(m, &contents[i])
		if !ok {
			continue
		}
		parts = append(parts, part)
		if part.Type == kindText {
			texts = append(texts, part.Text)
		}
	}
	if len(texts) == len(parts) {
		return strings.Join(texts, "\n\n")
	}
	return parts
}

func newChatPart(m *sdk.Model, content *sdk.ModelContent) (chatPart, bool) {
	if content.Type == sdk.ContentText {
		return chatPart{Type: "text", Text: content.Text}, true
	}
	if content.Type != sdk.ContentFile {
		return chatPart{}, false
	}
	a := newAttachment(m, content.Mime, content.Filename, content.URL)
	switch {
	case a.kind == kindImage:
		return chatPart{Type: "image_url", ImageURL: &chatImage{a.url}}, true
	case a.kind == kindAudio:
		_, data, _ := strings.Cut(a.url, ",")
		return chatPart{Type: "input_audio", InputAudio: &chatAudio{data, audioFormat(a.mime)}}, true
	case a.kind == kindFile && strings.HasPrefix(a.url, "data:"):
		return chatPart{Type: "file", File: &chatFile{a.name, a.url}}, true
	case a.kind == kindFile:
		a = notice("%s is at %s", a.name, a.url) // Chat Completions accepts no URL of a file
	}
	return chatPart{Type: "text", Text: a.text}, true
}

// chatAssistant returns an earlier answer of the model, or false if it would be empty.
func (c *client) chatAssistant(m *sdk.ModelMessage, inTurn bool) (chatMessage, bool) {
	msg := chatMessage{Role: sdk.RoleAssistant}
	var texts []string
	for i := range m.Content {
		content := &m.Content[i]
		switch content.Type {
		case sdk.ContentText:
			texts = append(texts, content.Text)
		case sdk.ContentReasoning:
			c.chatReasoning(&msg, content, inTurn)
		case sdk.ContentToolCall:
			msg.ToolCalls = append(msg.ToolCalls, chatCall{
				ID:           c.callID(content.CallID),
				Type:         "function",
				Function:     chatFunction{content.Tool, argumentsText(content.Args)},
				ExtraContent: content.Metadata[metaExtra],
			})
		}
	}
	text := strings.Join(texts, "\n\n")
	if text != "" || len(msg.ToolCalls) == 0 {
		msg.Content = text
	}
	return msg, text != "" || len(msg.ToolCalls) > 0 || msg.ReasoningContent != "" || msg.ReasoningDetails != nil
}

// chatReasoning sends reasoning back to servers that want it. Servers that send reasoning_content require it
// during the turn, and refuse or ignore it later. OpenRouter always wants its details. Others refuse unknown fields.
func (c *client) chatReasoning(msg *chatMessage, content *sdk.ModelContent, inTurn bool) {
	from, _ := content.Metadata[metaField].(string)
	to := c.reasoningField
	if to == reasoningAuto {
		to = reasoningNone
		if from == "reasoning_details" || (from == "reasoning_content" && inTurn) {
			to = from
		}
	}
	switch to {
	case "reasoning_details":
		details, _ := content.Metadata[metaDetails].([]any)
		msg.ReasoningDetails = append(msg.ReasoningDetails, details...)
	case "reasoning_content":
		msg.ReasoningContent += content.Text
	case "reasoning":
		msg.Reasoning += content.Text
	}
}

// chatResults appends one message per tool result, and one with their attachments.
func (c *client) chatResults(out []chatMessage, model *sdk.Model, m *sdk.ModelMessage) []chatMessage {
	for i := range m.Content {
		content := &m.Content[i]
		if content.Type != sdk.ContentToolResult {
			continue
		}
		out = append(out, chatMessage{Role: sdk.RoleTool, Content: cmp.Or(content.Text, noOutput), ToolCallID: c.callID(content.CallID)})
	}
	if files := resultFiles(m.Content); files != nil {
		out = append(out, chatMessage{Role: sdk.RoleUser, Content: chatContent(model, files)})
	}
	return out
}

// callID returns the ID in the form the server requires. Mistral accepts only nine letters and digits, and other
// models of the same conversation use longer IDs.
func (c *client) callID(id string) string {
	if c.callIDLength == 0 || (len(id) == c.callIDLength && strings.Trim(id, letters) == "") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	short := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return short[:min(len(short), c.callIDLength)]
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// argumentsText returns the arguments of a call as the text the protocols carry.
func argumentsText(args json.RawMessage) string {
	if len(args) == 0 {
		return "{}"
	}
	return unsafe.String(unsafe.SliceData(args), len(args)) // not copied: arguments of a request do not change
}
