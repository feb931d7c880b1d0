package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// event is one event of a stream. Type determines which fields are set.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *document       `json:"message"`
	Block   *contentBlock   `json:"content_block"`
	Delta   *delta          `json:"delta"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
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

// contentBlock is the beginning of a block, or the whole block in an answer that is not a stream.
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

// document is a whole answer.
type document struct {
	Type       string          `json:"type"`
	Content    []contentBlock  `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      *usage          `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

// decoder decodes an answer.
type decoder struct {
	*wire.Answer
	count  counts
	open   map[int]*openBlock
	blocks int // started so far; the number of the next
}

// openBlock is the state of a block.
type openBlock struct {
	number    int
	kind      string // of its deltas; empty: they are ignored
	call      *wire.Call
	input     json.RawMessage // complete arguments in its start; deltas replace them
	signature []byte
	citations []any
}

// Complete reports whether the stop reason arrived. Only message_stop follows, which some servers leave out.
func (d *decoder) Complete() bool { return d.Reason != "" }

// Event handles one event.
func (d *decoder) Event(_ string, data []byte) (done bool) {
	var ev event
	d.Decode(data, &ev)
	switch ev.Type {
	case "content_block_delta":
		d.delta(ev.Index, ev.Delta)
	case "message_start":
		if ev.Message != nil {
			d.count.add(ev.Message.Usage)
		}
	case "content_block_start":
		d.begin(ev.Index, ev.Block)
	case "content_block_stop":
		d.end(ev.Index)
	case "message_delta":
		d.count.add(ev.Usage)
		if ev.Delta != nil && ev.Delta.StopReason != "" {
			d.Reason = wire.FinishReason(ev.Delta.StopReason)
		}
	case "message_stop":
		return true
	case "error":
		d.Fail(&wire.Refusal{Body: data})
	case "":
		if wire.Present(ev.Error) {
			d.Fail(&wire.Refusal{Body: data})
		}
	}
	return false
}

// Whole handles an answer that is not a stream.
func (d *decoder) Whole(data []byte) {
	var m document
	d.DecodeDocument(data, &m)
	if m.Type != "message" {
		d.Fail(&wire.Refusal{Body: data})
	}
	for i := range m.Content {
		d.begin(i, &m.Content[i])
		d.end(i)
	}
	d.count.add(m.Usage)
	d.Reason = wire.FinishReason(m.StopReason)
}

// Finish ends the answer.
func (d *decoder) Finish() {
	for index := range d.open {
		d.end(index)
	}
	d.Tokens = d.count.tokens()
	d.Answer.Finish()
}

func (d *decoder) begin(index int, b *contentBlock) {
	if b == nil {
		return
	}
	d.end(index) // a server that numbers every block 0
	if d.blocks == wire.MaxItems {
		d.Fail(fmt.Errorf("%w: more than %d content blocks", sdk.ErrAnswerLimit, wire.MaxItems))
	}
	open := &openBlock{number: d.blocks}
	d.blocks++
	d.open[index] = open
	switch b.Type {
	case "text":
		open.kind = sdk.StreamText
		d.BlockWords(open.number, sdk.StreamText, b.Text, nil)
	case "thinking":
		open.kind, open.signature = sdk.StreamReasoning, []byte(b.Signature)
		d.Keep(len(b.Signature))
		d.BlockWords(open.number, sdk.StreamReasoning, b.Thinking, nil)
	case "redacted_thinking":
		d.BlockWords(open.number, sdk.StreamReasoning, "", sdk.Object{metaRedacted: b.Data})
	case "tool_use":
		open.kind, open.input, open.call = sdk.StreamToolCall, b.Input, d.NewCall()
		d.Keep(len(b.Input))
		open.call.ID, open.call.Tool = b.ID, b.Name
		d.Arguments(open.call, "")
	} // else the server ran a tool itself, or the type is unknown
}

func (d *decoder) delta(index int, delta *delta) {
	open := d.open[index]
	if open == nil || delta == nil {
		return
	}
	switch {
	case open.kind == sdk.StreamText && delta.Text != "":
		d.BlockWords(open.number, sdk.StreamText, delta.Text, nil)
	case open.kind == sdk.StreamText && len(delta.Citation) > 0:
		d.cite(open, delta.Citation)
	case open.kind == sdk.StreamReasoning && delta.Thinking != "":
		d.BlockWords(open.number, sdk.StreamReasoning, delta.Thinking, nil)
	case open.kind == sdk.StreamReasoning && delta.Signature != "":
		open.signature = append(open.signature, delta.Signature...)
		d.Keep(len(delta.Signature))
	case open.kind == sdk.StreamToolCall && delta.Partial != "":
		d.Arguments(open.call, delta.Partial)
	}
}

func (d *decoder) cite(b *openBlock, raw json.RawMessage) {
	if len(b.citations) == wire.MaxItems {
		d.Fail(fmt.Errorf("%w: more than %d citations of a text", sdk.ErrAnswerLimit, wire.MaxItems))
	}
	var citation any
	d.KeepJSON(raw, &citation)
	b.citations = append(b.citations, citation)
}

// end passes on the metadata of a block, and the arguments of a call that came without deltas.
func (d *decoder) end(index int) {
	open := d.open[index]
	if open == nil {
		return
	}
	delete(d.open, index)
	switch {
	case len(open.signature) > 0:
		d.BlockWords(open.number, sdk.StreamReasoning, "", sdk.Object{metaSignature: string(open.signature)})
	case open.citations != nil:
		d.BlockWords(open.number, sdk.StreamText, "", sdk.Object{metaCitations: open.citations})
	case open.call != nil && !open.call.Args && wire.Present(open.input):
		d.Arguments(open.call, string(open.input))
	}
}
