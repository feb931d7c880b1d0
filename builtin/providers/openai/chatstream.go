package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// chatChunk is one event of a Chat Completions stream, or the document that takes its place. Fields
// that servers fill with different types are kept raw.
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
	Delta        *chatDelta      `json:"delta"`
	Message      *chatDelta      `json:"message"` // what is not a stream has it in place of delta
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
		Arguments json.RawMessage `json:"arguments"` // a string; some send the object itself
	} `json:"function"`
	ExtraContent sdk.Object `json:"extra_content"` // Google: signatures it wants back
}

// chatDecoder decodes a Chat Completions answer.
type chatDecoder struct {
	*answer
	shape   chunkShape
	think   thinking
	details reasoningDetails
	byIndex map[int]*call
	last    *call
}

func (d *chatDecoder) complete() bool { return d.reason != "" }

func (d *chatDecoder) event(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		if !d.began && !d.complete() && d.think.held == "" {
			return true, fmt.Errorf("%w: it ended before it began", errCut)
		}
		return true, nil
	}
	if text, ok := d.shape.text(data); ok {
		return false, d.content(text)
	}
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return false, fmt.Errorf("%w: event %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	d.shape.learn(data, &chunk)
	return false, d.chunk(data, &chunk)
}

func (d *chatDecoder) whole(data []byte) error {
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		if said := readError(data); said.message != "" && json.Valid(data) {
			return &refusal{body: data}
		}
		return fmt.Errorf("%w: %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	if err := d.chunk(data, &chunk); err != nil {
		return err
	}
	if d.reason == "" && !d.began {
		return &refusal{body: data} // {"detail": …} and the like
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
	reasoning, text := d.think.flush()
	if err := d.words(sdk.StreamReasoning, reasoning, nil); err != nil {
		return err
	}
	if err := d.words(sdk.StreamText, text, nil); err != nil {
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
		if err := d.choice(choice); err != nil {
			return err
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

func (d *chatDecoder) choice(choice *chatChoice) error {
	for _, delta := range []*chatDelta{choice.Delta, choice.Message} {
		if delta == nil {
			continue
		}
		if err := d.delta(delta); err != nil {
			return err
		}
	}
	if choice.FinishReason != "" {
		d.reason = finishReason(choice.FinishReason)
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
	if err := d.content(content + delta.Refusal); err != nil {
		return err
	}
	for i := range delta.ToolCalls {
		if err := d.toolCall(&delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// reasoning passes on reasoning that came in a field of its own, and notes which one: the server may
// want it back.
func (d *chatDecoder) reasoning(delta *chatDelta) error {
	text, field := delta.ReasoningContent, "reasoning_content"
	if text == "" {
		text, field = rawText(delta.Reasoning), "reasoning"
	}
	if len(delta.ReasoningDetails) > 0 {
		if err := d.details.add(delta.ReasoningDetails); err != nil {
			return err
		}
		if d.kind != sdk.StreamReasoning {
			// The block is opened even without text: the details need a place.
			return d.words(sdk.StreamReasoning, text, sdk.Object{metaField: "reasoning_details"})
		}
	}
	if text == "" {
		return nil
	}
	if d.kind == sdk.StreamReasoning {
		return d.words(sdk.StreamReasoning, text, nil)
	}
	return d.words(sdk.StreamReasoning, text, sdk.Object{metaField: field})
}

// closeDetails gives the open block of reasoning its details, now that they are complete.
func (d *chatDecoder) closeDetails() error {
	if len(d.details.list) == 0 {
		return nil
	}
	metadata := d.details.metadata()
	d.details.list = nil
	return d.words(sdk.StreamReasoning, "", metadata)
}

// content passes on a delta of the text, which may hold reasoning between tags.
func (d *chatDecoder) content(delta string) error {
	if delta == "" {
		return nil
	}
	reasoning, text := d.think.split(delta)
	if reasoning != "" {
		if err := d.words(sdk.StreamReasoning, reasoning, nil); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	return d.words(sdk.StreamText, text, nil)
}

// contentText returns the text of a delta's content. Reasoning parts in it are passed on at once.
func (d *chatDecoder) contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return rawText(raw), nil
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"` // a string or a list of texts
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("%w: content %q: %w", errMalformed, visible.Cut(string(raw), 200, "…"), err)
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		if err := d.words(sdk.StreamReasoning, rawText(p.Thinking), nil); err != nil {
			return "", err
		}
		var list []struct {
			Text string `json:"text"`
		}
		if !present(p.Thinking) || json.Unmarshal(p.Thinking, &list) != nil {
			continue
		}
		for _, t := range list {
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
	if c.id == "" {
		c.id = delta.ID
	}
	if c.tool == "" {
		c.tool = delta.Function.Name
	}
	if c.metadata == nil && len(delta.ExtraContent) > 0 {
		c.metadata = sdk.Object{metaExtra: map[string]any(delta.ExtraContent)}
	}
	args := rawText(delta.Function.Arguments)
	if args == "" && present(delta.Function.Arguments) && delta.Function.Arguments[0] == '{' {
		args = string(delta.Function.Arguments)
	}
	return d.arguments(c, args)
}

// find returns the call a delta belongs to. The index tells, but some servers leave it out and some
// give every call the index 0; a new ID with a name begins a new call all the same.
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

// rawText returns the string in raw, or nothing when it holds something else.
func rawText(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
