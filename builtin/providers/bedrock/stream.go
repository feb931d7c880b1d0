package bedrock

import (
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
type decoder struct{ *wire.Answer }

// Event handles one event.
func (d *decoder) Event(kind string, data []byte) (done bool) {
	switch kind {
	case "contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStop", "metadata":
	default: // other events, whose payload can have any form
		return false
	}
	var p payload
	d.Decode(data, &p)
	switch kind {
	case "contentBlockDelta":
		d.delta(&p)
	case "contentBlockStart":
		if use := p.Start.ToolUse; use != nil {
			d.Block(p.Index).Begin(use.ID, use.Name)
		}
	case "contentBlockStop":
		d.EndBlock(p.Index)
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

func (d *decoder) delta(p *payload) {
	b := d.Block(p.Index)
	use, r := p.Delta.ToolUse, p.Delta.Reasoning
	switch {
	case p.Delta.Text != "":
		b.Say(sdk.StreamText, p.Delta.Text, nil)
	case use != nil && b.Call != nil:
		d.Arguments(b.Call, use.Input)
	case r != nil:
		b.Say(sdk.StreamReasoning, r.Text, nil)
		b.Seal(metaSignature, r.Signature)
		b.Seal(metaRedacted, r.Redacted+r.Data)
	}
}
