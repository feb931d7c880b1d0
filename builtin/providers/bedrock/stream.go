package bedrock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Keys of the metadata of reasoning, which later requests contain.
const (
	metaSignature = "signature"
	metaRedacted  = "redacted"
)

// payload is the payload of an event. The kind of the event determines which fields are set.
type payload struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    string `json:"text"`
		ToolUse *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
			Redacted  string `json:"redactedContent"`
			Data      string `json:"data"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
}

// usage excludes cached tokens from the input.
type usage struct {
	Input  float64 `json:"inputTokens"`
	Output float64 `json:"outputTokens"`
	Read   float64 `json:"cacheReadInputTokens"`
	Write  float64 `json:"cacheWriteInputTokens"`
}

// decoder decodes an answer.
type decoder struct {
	*wire.Answer
	blocks map[int]*block
}

// block is the state of a content block.
type block struct {
	call      *wire.Call
	signature []byte
	redacted  []byte
}

// Complete reports whether messageStop arrived. The metadata after it can be missing.
func (d *decoder) Complete() bool { return d.Reason != "" }

// Event handles one event.
func (d *decoder) Event(kind string, data []byte) (done bool) {
	switch kind {
	case "contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStop", "metadata":
	default: // their payload can have any form
		return false
	}
	var p payload
	d.Decode(data, &p)
	switch kind {
	case "contentBlockDelta":
		d.delta(&p)
	case "contentBlockStart":
		d.start(&p)
	case "contentBlockStop":
		d.stop(p.Index)
	case "messageStop":
		d.Reason = wire.FinishReason(p.StopReason)
	case "metadata":
		if u := p.Usage; u != nil {
			d.Tokens = wire.Tokens(u.Input, u.Output, 0, u.Read, u.Write)
		}
		return d.Complete()
	}
	return false
}

// Whole handles an answer without frames: gateways that unpack them send each event as an object with its name.
func (d *decoder) Whole(data []byte) {
	events := json.NewDecoder(bytes.NewReader(data))
	for {
		var event map[string]json.RawMessage
		err := events.Decode(&event)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.Fail(fmt.Errorf("%w: %w", wire.ErrMalformed, err))
			return
		}
		for kind, payload := range event {
			d.Event(kind, payload)
		}
	}
	switch {
	case d.Complete():
	case !d.Began():
		d.Fail(&wire.Refusal{Body: data})
	default:
		d.Fail(wire.ErrCut)
	}
}

// Finish ends the answer.
func (d *decoder) Finish() {
	for index := range d.blocks {
		d.stop(index)
	}
	d.Answer.Finish()
}

// block returns the state of a block and creates it on first use: text and reasoning have no start event.
func (d *decoder) block(index int) *block {
	b := d.blocks[index]
	if b == nil {
		if len(d.blocks) == wire.MaxItems {
			d.Fail(fmt.Errorf("%w: more than %d content blocks", sdk.ErrAnswerLimit, wire.MaxItems))
		}
		b = &block{}
		d.blocks[index] = b
	}
	return b
}

func (d *decoder) start(p *payload) {
	use := p.Start.ToolUse
	if use == nil {
		return
	}
	b := d.block(p.Index)
	b.call = d.NewCall()
	b.call.ID, b.call.Tool = use.ID, use.Name
	d.Arguments(b.call, "")
}

func (d *decoder) delta(p *payload) {
	if p.Delta.Text != "" {
		d.BlockWords(p.Index, sdk.StreamText, p.Delta.Text, nil)
		return
	}
	b := d.block(p.Index)
	if use := p.Delta.ToolUse; use != nil && b.call != nil && use.Input != "" {
		d.Arguments(b.call, use.Input)
		return
	}
	if r := p.Delta.Reasoning; r != nil {
		b.signature = append(b.signature, r.Signature...)
		b.redacted = append(append(b.redacted, r.Redacted...), r.Data...)
		d.Keep(len(r.Signature) + len(r.Redacted) + len(r.Data))
		d.BlockWords(p.Index, sdk.StreamReasoning, r.Text, nil)
	}
}

// stop passes on the metadata of a block.
func (d *decoder) stop(index int) {
	b := d.blocks[index]
	if b == nil {
		return
	}
	delete(d.blocks, index)
	switch {
	case len(b.redacted) > 0:
		d.BlockWords(index, sdk.StreamReasoning, "", sdk.Object{metaRedacted: string(b.redacted)})
	case len(b.signature) > 0:
		d.BlockWords(index, sdk.StreamReasoning, "", sdk.Object{metaSignature: string(b.signature)})
	}
}
