package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// event is one event of a stream. Type determines which fields are set.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    json.RawMessage `json:"id"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	Block *contentBlock   `json:"content_block"`
	Delta *delta          `json:"delta"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// delta is the change of a block or, in message_delta, of the message.
type delta struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Thinking   string          `json:"thinking"`
	Signature  string          `json:"signature"`
	Partial    string          `json:"partial_json"`
	Citation   json.RawMessage `json:"citation"`
	StopReason string          `json:"stop_reason"`
}

// contentBlock is the beginning of a block.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// decoder decodes an answer.
type decoder struct {
	*wire.Answer
	message string // ID
	usage   usage  // so far
}

// Event handles one event.
func (d *decoder) Event(_ string, data []byte) (done bool) {
	var ev event
	d.Decode(data, &ev)
	switch ev.Type {
	case "content_block_delta":
		d.delta(ev.Index, ev.Delta)
	case "message_start":
		if d.Began() && d.message != string(ev.Message.ID) { // a gateway that asked another server after half of an answer
			d.Fail(fmt.Errorf("%w: another one began", wire.ErrCut))
		}
		d.message = string(ev.Message.ID)
		d.count(ev.Message.Usage)
	case "content_block_start":
		d.begin(ev.Index, ev.Block)
	case "content_block_stop":
		d.EndBlock(ev.Index)
	case "message_delta":
		d.count(ev.Usage)
		if ev.Delta != nil && ev.Delta.StopReason != "" {
			d.Reason = wire.FinishReason(ev.Delta.StopReason)
		}
	case "message_stop":
		return true
	case "error":
		d.Fail(&wire.Refusal{Body: data})
	case "":
		d.Refused(ev.Error, data)
	}
	return false
}

// Finish ends the answer.
func (d *decoder) Finish() {
	d.Tokens = d.usage.tokens()
	d.Answer.Finish()
}

func (d *decoder) begin(index int, b *contentBlock) {
	if b == nil {
		return
	}
	d.EndBlock(index) // some servers number every block 0
	open := d.Block(index)
	switch b.Type {
	case "text":
		open.Say(sdk.StreamText, b.Text, nil)
	case "thinking":
		open.Say(sdk.StreamReasoning, b.Thinking, nil)
		open.Seal(metaSignature, b.Signature)
	case "redacted_thinking":
		open.Say(sdk.StreamReasoning, "", sdk.Object{metaRedacted: b.Data})
	case "tool_use":
		open.Begin(b.ID, b.Name)
		open.Input = b.Input
		d.Keep(len(b.Input))
	} // otherwise the server itself ran a tool, or the type is unknown
}

func (d *decoder) delta(index int, delta *delta) {
	if delta == nil {
		return
	}
	switch open := d.Block(index); open.Kind {
	case sdk.StreamText:
		open.Say(sdk.StreamText, delta.Text, nil)
		d.cite(open, delta.Citation)
	case sdk.StreamReasoning:
		open.Say(sdk.StreamReasoning, delta.Thinking, nil)
		open.Seal(metaSignature, delta.Signature)
	case sdk.StreamToolCall:
		d.Arguments(open.Call, delta.Partial)
	}
}

func (d *decoder) cite(b *wire.Block, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	if b.Metadata == nil {
		b.Metadata = sdk.Object{}
	}
	list, _ := b.Metadata[metaCitations].([]any)
	if len(list) == wire.MaxItems {
		d.Fail(fmt.Errorf("%w: more than %d citations of a text", sdk.ErrAnswerLimit, wire.MaxItems))
	}
	var citation any
	d.KeepJSON(raw, &citation)
	b.Metadata[metaCitations] = append(list, citation)
}

// usage is the usage of an answer. Counts are cumulative: an event corrects those that it has, see count. Cached tokens are not part of the
// input.
type usage struct {
	Input         float64 `json:"input_tokens"`
	Output        float64 `json:"output_tokens"`
	CacheRead     float64 `json:"cache_read_input_tokens"`
	CacheWrite    float64 `json:"cache_creation_input_tokens"`
	OutputDetails struct {
		Thinking float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Iterations lists the parts of an answer during which the server compacted the conversation; the counts
	// above cover only the last part.
	Iterations []struct {
		Type   string  `json:"type"`
		Input  float64 `json:"input_tokens"`
		Output float64 `json:"output_tokens"`
	} `json:"iterations"`
}

// count decodes a usage into the counts so far, which keep the values that it lacks. An invalid count is left out, so that the answer is kept.
func (d *decoder) count(raw json.RawMessage) { _ = json.Unmarshal(raw, &d.usage) }

func (u *usage) tokens() sdk.Tokens {
	compacted, input, output := false, 0.0, 0.0
	for _, part := range u.Iterations {
		compacted = compacted || part.Type == "compaction"
		if part.Type == "message" || part.Type == "compaction" {
			input, output = input+part.Input, output+part.Output
		}
	}
	if compacted {
		u.Input, u.Output = input, output
	}
	return wire.Tokens(u.Input, u.Output-u.OutputDetails.Thinking, u.OutputDetails.Thinking, u.CacheRead, u.CacheWrite)
}
