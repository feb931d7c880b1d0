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
func (d *decoder) Event(kind string, data []byte) (done bool, err error) {
	switch kind {
	case "contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStop", "metadata":
	default: // their payload can have any form
		return false, nil
	}
	var p payload
	if err := wire.Unmarshal(data, &p); err != nil {
		return false, err
	}
	switch kind {
	case "contentBlockDelta":
		return false, d.delta(&p)
	case "contentBlockStart":
		return false, d.start(&p)
	case "contentBlockStop":
		return false, d.stop(p.Index)
	case "messageStop":
		d.Reason = wire.FinishReason(p.StopReason)
	case "metadata":
		d.count(p.Usage)
		return d.Complete(), nil
	}
	return false, nil
}

// Whole handles an answer without frames: gateways that unpack them send each event as an object with its name.
func (d *decoder) Whole(data []byte) error {
	events := json.NewDecoder(bytes.NewReader(data))
	for {
		var event map[string]json.RawMessage
		err := events.Decode(&event)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %w", wire.ErrMalformed, err)
		}
		for kind, payload := range event {
			if _, err := d.Event(kind, payload); err != nil {
				return err
			}
		}
	}
	switch {
	case d.Complete():
		return nil
	case !d.Began():
		return &wire.Refusal{Body: data}
	}
	return wire.ErrCut
}

// Finish ends the answer.
func (d *decoder) Finish() error {
	for index := range d.blocks {
		if err := d.stop(index); err != nil {
			return err
		}
	}
	return d.Answer.Finish()
}

// block returns the state of a block and creates it on first use: text and reasoning have no start event.
func (d *decoder) block(index int) (*block, error) {
	if b := d.blocks[index]; b != nil {
		return b, nil
	}
	if len(d.blocks) == wire.MaxItems {
		return nil, fmt.Errorf("%w: more than %d content blocks", sdk.ErrAnswerLimit, wire.MaxItems)
	}
	b := &block{}
	d.blocks[index] = b
	return b, nil
}

func (d *decoder) start(p *payload) error {
	if p.Start.ToolUse == nil {
		return nil
	}
	b, err := d.block(p.Index)
	if err != nil {
		return err
	}
	if b.call, err = d.NewCall(); err != nil {
		return err
	}
	b.call.ID, b.call.Tool = p.Start.ToolUse.ID, p.Start.ToolUse.Name
	return d.Arguments(b.call, "")
}

func (d *decoder) delta(p *payload) error {
	if p.Delta.Text != "" {
		return d.BlockWords(p.Index, sdk.StreamText, p.Delta.Text, nil)
	}
	b, err := d.block(p.Index)
	if err != nil {
		return err
	}
	if use := p.Delta.ToolUse; use != nil && b.call != nil && use.Input != "" {
		return d.Arguments(b.call, use.Input)
	}
	r := p.Delta.Reasoning
	if r == nil {
		return nil
	}
	b.signature = append(b.signature, r.Signature...)
	b.redacted = append(append(b.redacted, r.Redacted...), r.Data...)
	if err := d.Keep(len(r.Signature) + len(r.Redacted) + len(r.Data)); err != nil {
		return err
	}
	return d.BlockWords(p.Index, sdk.StreamReasoning, r.Text, nil)
}

// stop passes on the metadata of a block.
func (d *decoder) stop(index int) error {
	b := d.blocks[index]
	if b == nil {
		return nil
	}
	delete(d.blocks, index)
	switch {
	case len(b.redacted) > 0:
		return d.BlockWords(index, sdk.StreamReasoning, "", sdk.Object{metaRedacted: string(b.redacted)})
	case len(b.signature) > 0:
		return d.BlockWords(index, sdk.StreamReasoning, "", sdk.Object{metaSignature: string(b.signature)})
	}
	return nil
}

func (d *decoder) count(u *usage) {
	if u != nil {
		d.Tokens = wire.Tokens(u.Input, u.Output, 0, u.Read, u.Write)
	}
}
