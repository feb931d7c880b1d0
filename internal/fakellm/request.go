package fakellm

import (
	"net/http"
	"strings"
	"time"
)

// Request is one request the server got.
type Request struct {
	Path    string // such as /v1/chat/completions
	Header  http.Header
	Raw     []byte         // the body as it arrived
	Body    map[string]any // the body decoded; nil when it is not an object
	Arrived time.Time      // when the body had arrived
	Time    time.Time      // when the server had decoded it and began to answer
}

// Message is one message of a request.
type Message struct {
	Role       string   // system, user, assistant or tool
	Text       string   // all text of the message
	ToolCallID string   // ID of the call, for a tool result
	Files      []string // URLs of images and files
}

// Model returns the name of the model asked for.
func (r Request) Model() string { return str(r.Body["model"]) }

// Tools lists the names of the offered tools.
func (r Request) Tools() []string {
	var names []string
	for _, t := range list(r.Body["tools"]) {
		names = append(names, str(object(object(t)["function"])["name"]))
	}
	return names
}

// System returns the system prompt.
func (r Request) System() string {
	var parts []string
	for _, m := range r.Messages() {
		if m.Role == "system" || m.Role == "developer" {
			parts = append(parts, m.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// LastUser returns the text of the last user message.
func (r Request) LastUser() string {
	text := ""
	for _, m := range r.Messages() {
		if m.Role == "user" {
			text = m.Text
		}
	}
	return text
}

// Results returns the texts of the tool results by call ID.
func (r Request) Results() map[string]string {
	out := map[string]string{}
	for _, m := range r.Messages() {
		if m.Role == "tool" {
			out[m.ToolCallID] = m.Text
		}
	}
	return out
}

// IsTitle reports whether the request asks for a session's title: it offers no tools, and its system prompt mentions a title.
func (r Request) IsTitle() bool {
	return len(list(r.Body["tools"])) == 0 && strings.Contains(strings.ToLower(r.System()), "title")
}

// Messages returns the messages in order.
func (r Request) Messages() []Message {
	var out []Message
	for _, one := range list(r.Body["messages"]) {
		m := object(one)
		msg := Message{Role: str(m["role"]), ToolCallID: str(m["tool_call_id"])}
		msg.Text, msg.Files = content(m["content"])
		out = append(out, msg)
	}
	return out
}

// content reads a string or a list of content parts.
func content(v any) (text string, files []string) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	for _, p := range list(v) {
		part := object(p)
		text += str(part["text"])
		for _, url := range []any{object(part["image_url"])["url"], object(part["file"])["file_data"]} {
			if s := str(url); s != "" {
				files = append(files, s)
			}
		}
	}
	return text, files
}

func str(v any) string            { s, _ := v.(string); return s }
func list(v any) []any            { l, _ := v.([]any); return l }
func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
