package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// The parts of the server's API that are used here. See https://github.com/ollama/ollama/blob/main/docs/api.md,
// "Generate a chat completion".
type (
	chat struct {
		Model    string         `json:"model"`
		Messages []message      `json:"messages"`
		Tools    []tool         `json:"tools,omitempty"`
		Stream   bool           `json:"stream"`
		Options  map[string]any `json:"options,omitempty"`
	}
	message struct {
		Role      string     `json:"role"`
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking,omitempty"`
		Images    []string   `json:"images,omitempty"` // base64
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
		ToolName  string     `json:"tool_name,omitempty"` // of a result
	}
	toolCall struct {
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	tool struct {
		Type     string       `json:"type"`
		Function toolFunction `json:"function"`
	}
	toolFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	reply struct {
		Message      message `json:"message"`
		Error        string  `json:"error"`
		Done         bool    `json:"done"`
		DoneReason   string  `json:"done_reason"`
		PromptTokens int64   `json:"prompt_eval_count"`
		Tokens       int64   `json:"eval_count"`
	}
)

// newChat translates a request.
func newChat(req *sdk.ModelRequest) *chat {
	c := &chat{Model: cmp.Or(req.Model.APIID, req.Model.ID), Stream: true, Options: map[string]any{}}
	if len(req.System) > 0 {
		c.Messages = append(c.Messages, message{Role: "system", Content: strings.Join(req.System, "\n\n")})
	}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, newMessages(m)...)
	}
	if req.ToolChoice != sdk.ToolChoiceNone {
		for _, t := range req.Tools {
			c.Tools = append(c.Tools, tool{"function", toolFunction{t.ID, t.Description, t.Parameters}})
		}
	}
	p := req.Params
	maps.Copy(c.Options, p.Options)
	if p.Temperature != nil {
		c.Options["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		c.Options["top_p"] = *p.TopP
	}
	if p.TopK != nil {
		c.Options["top_k"] = *p.TopK
	}
	if p.MaxOutputTokens > 0 {
		c.Options["num_predict"] = p.MaxOutputTokens
	}
	return c
}

// newMessages translates a message. Each result of a tool becomes a separate message.
func newMessages(m sdk.ModelMessage) []message {
	out := message{Role: m.Role}
	var results []message
	for _, c := range m.Content {
		switch c.Type {
		case sdk.ContentText:
			out.Content += c.Text
		case sdk.ContentReasoning:
			out.Thinking += c.Text
		case sdk.ContentFile:
			if _, data, ok := strings.Cut(c.URL, ";base64,"); ok && strings.HasPrefix(c.Mime, "image/") {
				out.Images = append(out.Images, data)
				continue
			}
			out.Content += fmt.Sprintf("\n[file %s, which this model cannot read]", c.Filename)
		case sdk.ContentToolCall:
			var call toolCall
			call.Function.Name, call.Function.Arguments = c.Tool, c.Args
			out.ToolCalls = append(out.ToolCalls, call)
		case sdk.ContentToolResult:
			results = append(results, message{Role: "tool", ToolName: c.Tool, Content: c.Text})
		}
	}
	if m.Role == sdk.RoleTool {
		return results
	}
	return []message{out}
}

// answer turns the lines of an answer into events.
type answer struct {
	sink            func(sdk.StreamEvent) error
	calls           int
	begun, finished bool
}

// sinkError marks an error of the sink.
type sinkError struct{ error }

func (a *answer) line(data []byte) error {
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("line of the answer: %w", err)
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	var events []sdk.StreamEvent
	if r.Message.Thinking != "" {
		events = append(events, sdk.StreamEvent{Type: sdk.StreamReasoning, ID: "thinking", Text: r.Message.Thinking})
	}
	if r.Message.Content != "" {
		events = append(events, sdk.StreamEvent{Type: sdk.StreamText, ID: "text", Text: r.Message.Content})
	}
	for _, call := range r.Message.ToolCalls {
		a.calls++
		id := fmt.Sprintf("call-%d", a.calls)
		events = append(events, sdk.StreamEvent{
			Type: sdk.StreamToolCall, ID: id, CallID: id, Tool: call.Function.Name, Text: string(call.Function.Arguments),
		})
	}
	if r.Done {
		events = append(events, a.finish(&r))
	}
	for _, e := range events {
		if err := a.sink(e); err != nil {
			return &sinkError{err}
		}
		a.begun = true
	}
	return nil
}

func (a *answer) finish(r *reply) sdk.StreamEvent {
	a.finished = true
	reason := sdk.FinishStop
	switch {
	case a.calls > 0:
		reason = sdk.FinishToolCalls
	case r.DoneReason == "length":
		reason = sdk.FinishLength
	}
	return sdk.StreamEvent{Type: sdk.StreamFinish, Reason: reason, Tokens: sdk.Tokens{Input: r.PromptTokens, Output: r.Tokens}}
}
