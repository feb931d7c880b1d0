package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// chunkEvent is one event of a Chat Completions stream, or the document that replaces the stream. Fields
// whose type differs between servers stay raw.
type chunkEvent struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	// Citations are the sources of the answer (Perplexity, xAI): each event has all of them.
	Citations json.RawMessage `json:"citations"`
	Groq      struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        deltaFields     `json:"delta"`
	Message      *deltaFields    `json:"message"` // replaces delta in an answer that is not a stream
	FinishReason string          `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"` // Moonshot
	Error        json.RawMessage `json:"error"` // OpenRouter
}

type deltaFields struct {
	Content          json.RawMessage              `json:"content"` // a string; Mistral: a list of parts when the model reasons
	Refusal          string                       `json:"refusal"`
	ReasoningContent string                       `json:"reasoning_content"` // DeepSeek and many others
	Reasoning        json.RawMessage              `json:"reasoning"`         // OpenRouter, Groq, Ollama, vLLM: a string
	ReasoningDetails []map[string]json.RawMessage `json:"reasoning_details"` // OpenRouter
	ReasoningText    string                       `json:"reasoning_text"`    // Copilot, with the following
	Opaque           string                       `json:"reasoning_opaque"`
	ToolCalls        []*callDelta                 `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object itself
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"` // Google: signatures to send back
}

// decoder decodes a Chat Completions answer.
type decoder struct {
	*wire.Answer
	think   thinking
	details reasoningDetails
	byIndex map[int]*wire.Call
	last    *wire.Call
	whole   *wire.Call // the latest call whose arguments arrived in one piece
	sources json.RawMessage
	event   chunkEvent // the last one
}

func (d *decoder) Event(_ string, data []byte) (done bool) {
	if string(data) == "[DONE]" {
		if !d.Began() && !d.Complete() && d.think.held == "" {
			d.Fail(fmt.Errorf("%w: the stream is empty", wire.ErrCut))
		}
		return true
	}
	d.event = chunkEvent{} // reused, because every word is an event
	d.Decode(data, &d.event)
	d.chunk(data, &d.event)
	return false
}

func (d *decoder) Whole(data []byte) {
	var chunk chunkEvent
	if wire.Unmarshal(data, &chunk) != nil {
		d.Answer.Whole(data)
		return
	}
	d.chunk(data, &chunk)
	if d.Reason == "" && !d.Began() {
		d.Fail(&wire.Refusal{Body: data}) // for example {"detail": …}
	}
}

func (d *decoder) Finish() {
	d.closeDetails()
	if d.think.open() && len(d.Calls) == 0 && d.Reason != sdk.FinishLength {
		d.Fail(fmt.Errorf("%w: it ended within <think>, without an answer", wire.ErrCut))
	}
	d.thought(d.think.flush())
	var sources []any
	if json.Unmarshal(d.sources, &sources) == nil && len(sources) > 0 && d.Open(sdk.StreamText) {
		d.Words(sdk.StreamText, "", sdk.Object{metaSources: sources})
	}
	d.Answer.Finish()
}

func (d *decoder) chunk(data []byte, chunk *chunkEvent) {
	usage := chunk.Usage
	if wire.Present(chunk.Groq.Usage) {
		usage = chunk.Groq.Usage
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if wire.Present(choice.Usage) {
			usage = choice.Usage
		}
		d.delta(&choice.Delta)
		if choice.Message != nil {
			d.delta(choice.Message)
		}
		if choice.FinishReason != "" {
			d.Reason = wire.FinishReason(choice.FinishReason)
		}
		d.Refused(choice.Error, choice.Error)
	}
	if wire.Present(chunk.Citations) {
		d.sources = chunk.Citations
	}
	if tokens, ok := tokensOf(usage); ok {
		d.Tokens = tokens
	}
	d.Refused(chunk.Error, data)
	d.Refused(chunk.Groq.Error, chunk.Groq.Error)
	if chunk.Choices == nil { // the errors of vLLM, and of servers on FastAPI
		var other struct {
			Object string          `json:"object"`
			Detail json.RawMessage `json:"detail"`
		}
		if json.Unmarshal(data, &other) == nil && (other.Object == "error" || wire.Present(other.Detail)) {
			d.Fail(&wire.Refusal{Body: data})
		}
	}
}

func (d *decoder) delta(delta *deltaFields) {
	d.reasoning(delta)
	content := d.contentText(delta.Content) + delta.Refusal
	if content != "" || len(delta.ToolCalls) > 0 {
		d.closeDetails()
	}
	d.thought(d.think.split(content))
	for _, call := range delta.ToolCalls {
		if call != nil {
			d.toolCall(call)
		}
	}
}

// reasoning passes on reasoning from its own field. The metadata names the field because the server may want it back.
func (d *decoder) reasoning(delta *deltaFields) {
	text, field := delta.ReasoningContent, "reasoning_content"
	if text == "" {
		text, field = wire.Text(delta.Reasoning), "reasoning"
	}
	if delta.ReasoningText != "" || delta.Opaque != "" {
		d.copilotReasoning(delta)
		return
	}
	if len(delta.ReasoningDetails) > 0 {
		field = "reasoning_details"
		d.details.add(d.Answer, delta.ReasoningDetails)
	} else if text == "" {
		return
	}
	var metadata sdk.Object
	if !d.Open(sdk.StreamReasoning) { // opens a block, even without text: the details belong to it
		metadata = sdk.Object{metaField: field}
	}
	d.Words(sdk.StreamReasoning, text, metadata)
}

// copilotReasoning passes on Copilot's reasoning. The sealed form comes once in an answer.
func (d *decoder) copilotReasoning(delta *deltaFields) {
	var metadata sdk.Object
	if delta.Opaque != "" || !d.Open(sdk.StreamReasoning) {
		metadata = sdk.Object{metaField: "reasoning_text"}
	}
	if delta.Opaque != "" {
		metadata[metaOpaque] = delta.Opaque
	}
	d.Words(sdk.StreamReasoning, delta.ReasoningText, metadata)
}

// closeDetails adds the complete details to the open block of reasoning.
func (d *decoder) closeDetails() {
	if len(d.details) > 0 {
		metadata := d.details.metadata()
		d.details = nil
		d.Words(sdk.StreamReasoning, "", metadata)
	}
}

// thought passes on reasoning, then text.
func (d *decoder) thought(reasoning, text string) {
	d.Words(sdk.StreamReasoning, reasoning, nil)
	d.Words(sdk.StreamText, text, nil)
}

// contentText returns the text of a delta's content. It passes on reasoning parts immediately.
func (d *decoder) contentText(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '[' {
		return wire.Text(raw)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"` // a string or a list of texts
	}
	d.Decode(raw, &parts)
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		thinking := []struct {
			Text string `json:"text"`
		}{{wire.Text(p.Thinking)}}
		if len(p.Thinking) > 0 && p.Thinking[0] == '[' && json.Unmarshal(p.Thinking, &thinking) != nil {
			continue
		}
		for _, t := range thinking {
			d.Words(sdk.StreamReasoning, t.Text, nil)
		}
	}
	return text.String()
}

func (d *decoder) toolCall(delta *callDelta) {
	c := d.find(delta)
	c.ID, c.Tool = cmp.Or(c.ID, delta.ID), cmp.Or(c.Tool, delta.Function.Name)
	if c.Metadata == nil && wire.Present(delta.ExtraContent) {
		var extra map[string]any
		if d.KeepJSON(delta.ExtraContent, &extra); len(extra) > 0 {
			c.Metadata = sdk.Object{metaExtra: extra}
		}
	}
	args := wire.ArgumentsText(delta.Function.Arguments)
	if !c.Args && strings.HasPrefix(args, "{") && json.Valid([]byte(args)) {
		d.whole = c
	}
	d.Arguments(c, args)
}

// find returns the call of a delta. The index identifies it, but some servers omit the index and others send 0 for
// every call. A new ID with a name always begins a new call; a name alone begins a call if it cannot continue one.
func (d *decoder) find(delta *callDelta) *wire.Call {
	c := d.last
	if delta.Index != nil {
		c = d.byIndex[*delta.Index]
	}
	another := c == d.whole && wire.ArgumentsText(delta.Function.Arguments) != ""
	begins := delta.Function.Name != "" && (delta.ID != "" || delta.Index == nil || another)
	if c == nil || (begins && c.Started() && c.ID != delta.ID) {
		c = d.NewCall()
	}
	d.last = c
	if delta.Index != nil {
		d.byIndex[*delta.Index] = c
	}
	return c
}

// usage is the usage of Chat Completions with the additions of other servers. The fields are floats because some
// servers send 12.0.
type usage struct {
	Prompt        float64 `json:"prompt_tokens"`
	Completion    float64 `json:"completion_tokens"`
	Total         float64 `json:"total_tokens"`
	PromptDetails struct {
		Cached float64 `json:"cached_tokens"`
		Write  float64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit   float64 `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached     float64 `json:"cached_tokens"`               // Moonshot
	CacheRead  float64 `json:"cache_read_input_tokens"`     // LiteLLM, from Anthropic
	CacheWrite float64 `json:"cache_creation_input_tokens"` // the same
}

// tokensOf converts a usage. It ignores an invalid one, so that the answer is kept.
func tokensOf(raw json.RawMessage) (tokens sdk.Tokens, ok bool) {
	if !wire.Present(raw) {
		return sdk.Tokens{}, false // almost all events have no usage; this avoids an allocation
	}
	var u usage
	if json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}, false
	}
	read := max(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.CacheRead)
	write := max(u.PromptDetails.Write, u.CacheWrite)
	return wire.CountTokens(u.Prompt, u.Completion, u.Total, read, write, u.CompletionDetails.Reasoning), true
}
