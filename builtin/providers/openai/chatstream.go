package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/sdk"
)

// chatChunk is one event of a Chat Completions stream, or the document that replaces the stream. Fields
// whose type differs between servers stay raw.
type chatChunk struct {
	Choices []chatChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
}

type chatChoice struct {
	Index        int             `json:"index"`
	Delta        chatDelta       `json:"delta"`
	Message      *chatDelta      `json:"message"` // replaces delta in an answer that is not a stream
	FinishReason string          `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"` // Moonshot
	Error        json.RawMessage `json:"error"` // OpenRouter
}

type chatDelta struct {
	Content          json.RawMessage  `json:"content"` // a string; Mistral: a list of parts when the model reasons
	Refusal          string           `json:"refusal"`
	ReasoningContent string           `json:"reasoning_content"` // DeepSeek and many others
	Reasoning        json.RawMessage  `json:"reasoning"`         // OpenRouter, Groq, Ollama, vLLM: a string
	ReasoningDetails []map[string]any `json:"reasoning_details"` // OpenRouter
	ToolCalls        []chatCallDelta  `json:"tool_calls"`
}

type chatCallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object itself
	} `json:"function"`
	ExtraContent sdk.Object `json:"extra_content"` // Google: signatures to send back
}

// chatDecoder decodes a Chat Completions answer.
type chatDecoder struct {
	*answer
	think   thinking
	details reasoningDetails
	byIndex map[int]*call
	last    *call
}

func (d *chatDecoder) complete() bool { return d.reason != "" }

func (d *chatDecoder) event(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		if !d.began && !d.complete() && d.think.held == "" {
			return true, fmt.Errorf("%w: the stream is empty", errCut)
		}
		return true, nil
	}
	var chunk chatChunk
	if err := unmarshal(data, &chunk); err != nil {
		return false, err
	}
	return false, d.chunk(data, &chunk)
}

func (d *chatDecoder) whole(data []byte) error {
	var chunk chatChunk
	if err := unmarshalDocument(data, &chunk); err != nil {
		return err
	}
	if err := d.chunk(data, &chunk); err != nil {
		return err
	}
	if d.reason == "" && !d.began {
		return &refusal{body: data} // for example {"detail": …}
	}
	return nil
}

func (d *chatDecoder) finish() error {
	if err := d.closeDetails(); err != nil {
		return err
	}
	if d.think.open() && len(d.calls) == 0 && d.reason != sdk.FinishLength {
		return fmt.Errorf("%w: it ended within <think>, without an answer", errCut)
	}
	if err := d.thought(d.think.flush()); err != nil {
		return err
	}
	return d.answer.finish()
}

func (d *chatDecoder) chunk(data []byte, chunk *chatChunk) error {
	failed := present(chunk.Error)
	usage := chunk.Usage
	if g := chunk.Groq; g != nil {
		failed = failed || present(g.Error)
		if present(g.Usage) {
			usage = g.Usage
		}
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		failed = failed || present(choice.Error)
		if present(choice.Usage) {
			usage = choice.Usage
		}
		if err := d.delta(&choice.Delta); err != nil {
			return err
		}
		if choice.Message != nil {
			if err := d.delta(choice.Message); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			d.reason = finishReason(choice.FinishReason)
		}
	}
	if tokens, ok := chatTokens(usage); ok {
		d.tokens = tokens
	}
	if failed {
		return &refusal{body: data}
	}
	return nil
}

func (d *chatDecoder) delta(delta *chatDelta) error {
	if err := d.reasoning(delta); err != nil {
		return err
	}
	content, err := d.contentText(delta.Content)
	if err != nil {
		return err
	}
	if content+delta.Refusal != "" || len(delta.ToolCalls) > 0 {
		if err := d.closeDetails(); err != nil {
			return err
		}
	}
	if err := d.thought(d.think.split(content + delta.Refusal)); err != nil {
		return err
	}
	for i := range delta.ToolCalls {
		if err := d.toolCall(&delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// reasoning passes on reasoning from its own field. The metadata names the field because the server may want it back.
func (d *chatDecoder) reasoning(delta *chatDelta) error {
	text, field := delta.ReasoningContent, "reasoning_content"
	if text == "" {
		text, field = rawText(delta.Reasoning), "reasoning"
	}
	if len(delta.ReasoningDetails) > 0 {
		field = "reasoning_details"
		if err := d.details.add(delta.ReasoningDetails); err != nil {
			return err
		}
	} else if text == "" {
		return nil
	}
	var metadata sdk.Object
	if d.kind != sdk.StreamReasoning { // opens a block, even without text: the details belong to it
		metadata = sdk.Object{metaField: field}
	}
	return d.words(sdk.StreamReasoning, text, metadata)
}

// closeDetails adds the complete details to the open block of reasoning.
func (d *chatDecoder) closeDetails() error {
	if len(d.details.list) == 0 {
		return nil
	}
	metadata := d.details.metadata()
	d.details.list = nil
	return d.words(sdk.StreamReasoning, "", metadata)
}

// thought passes on reasoning, then text.
func (d *chatDecoder) thought(reasoning, text string) error {
	if err := d.words(sdk.StreamReasoning, reasoning, nil); err != nil {
		return err
	}
	return d.words(sdk.StreamText, text, nil)
}

// contentText returns the text of a delta's content. It passes on reasoning parts immediately.
func (d *chatDecoder) contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return rawText(raw), nil
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"` // a string or a list of texts
	}
	if err := unmarshal(raw, &parts); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		thinking := []struct {
			Text string `json:"text"`
		}{{rawText(p.Thinking)}}
		if len(p.Thinking) > 0 && p.Thinking[0] == '[' && json.Unmarshal(p.Thinking, &thinking) != nil {
			continue
		}
		for _, t := range thinking {
			if err := d.words(sdk.StreamReasoning, t.Text, nil); err != nil {
				return "", err
			}
		}
	}
	return text.String(), nil
}

func (d *chatDecoder) toolCall(delta *chatCallDelta) error {
	c, err := d.find(delta)
	if err != nil {
		return err
	}
	c.id, c.tool = cmp.Or(c.id, delta.ID), cmp.Or(c.tool, delta.Function.Name)
	if c.metadata == nil && len(delta.ExtraContent) > 0 {
		c.metadata = sdk.Object{metaExtra: map[string]any(delta.ExtraContent)}
	}
	args := rawText(delta.Function.Arguments)
	if args == "" && present(delta.Function.Arguments) && delta.Function.Arguments[0] == '{' {
		args = string(delta.Function.Arguments)
	}
	return d.arguments(c, args)
}

// find returns the call of a delta. The index identifies it, but some servers omit the index and others
// send 0 for every call. A new ID with a name always begins a new call.
func (d *chatDecoder) find(delta *chatCallDelta) (c *call, err error) {
	c = d.last
	if delta.Index != nil {
		c = d.byIndex[*delta.Index]
	}
	begins := delta.Function.Name != "" && delta.ID != ""
	if delta.Index == nil && delta.Function.Name != "" && delta.ID == "" {
		begins = c == nil || c.tool != ""
	}
	if c == nil || (begins && c.started && c.id != delta.ID) {
		if c, err = d.newCall(); err != nil {
			return nil, err
		}
	}
	d.last = c
	if delta.Index != nil {
		if d.byIndex == nil {
			d.byIndex = map[int]*call{}
		}
		d.byIndex[*delta.Index] = c
	}
	return c, nil
}

// finishReason translates the reasons of Chat Completions.
func finishReason(reason string) string {
	switch reason {
	case "stop", "end_turn", "eos", "stop_sequence":
		return sdk.FinishStop
	case "length", "max_tokens", "model_length":
		return sdk.FinishLength
	case "tool_calls", "function_call", "tool_use":
		return sdk.FinishToolCalls
	case "content_filter", "safety", "SAFETY":
		return sdk.FinishContentFilter
	case "error":
		return sdk.FinishError
	}
	return sdk.FinishOther
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// rawText returns the string in raw, or "" if raw is not a string.
func rawText(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if text := raw[1 : len(raw)-1]; !bytes.ContainsRune(text, '\\') && utf8.Valid(text) {
		return string(text) // nearly all deltas: a second decoder would double their cost
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
