package gemini

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// response is one event: the new parts of the answer.
type response struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []answerPart `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage json.RawMessage `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type answerPart struct {
	Text      string    `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Call      *callPart `json:"functionCall"`
}

// callPart is a call, or a piece of a call whose arguments Vertex AI streams.
type callPart struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Partial  []partialArg    `json:"partialArgs"`
	Continue bool            `json:"willContinue"`
}

// usage is cumulative: the last one counts. Cached tokens are part of the prompt, thoughts are not part of the candidates.
type usage struct {
	Prompt     float64 `json:"promptTokenCount"`
	Cached     float64 `json:"cachedContentTokenCount"`
	Candidates float64 `json:"candidatesTokenCount"`
	Thoughts   float64 `json:"thoughtsTokenCount"`
}

// promptCount is part of every usage with numbers; a usage without it is ignored.
var promptCount = []byte(`"promptTokenCount"`)

// decoder decodes an answer.
type decoder struct {
	*wire.Answer
	call  *wire.Call // whose arguments are streamed
	args  partialArgs
	usage json.RawMessage // the latest; decoded once, at the end
}

// Complete reports whether the finish reason arrived: the format has no other end mark.
func (d *decoder) Complete() bool { return d.Reason != "" }

// Event handles one event.
func (d *decoder) Event(_ string, data []byte) (done bool, err error) {
	var r response
	if err := wire.Unmarshal(data, &r); err != nil {
		return false, err
	}
	return false, d.response(data, &r)
}

// Whole handles an answer that is one document: a list of events, or an error.
func (d *decoder) Whole(data []byte) error {
	list := []json.RawMessage{data}
	if data[0] == '[' {
		if err := wire.Unmarshal(data, &list); err != nil {
			return err
		}
	}
	for _, raw := range list {
		var r response
		if err := wire.UnmarshalDocument(raw, &r); err != nil {
			return err
		}
		if err := d.response(raw, &r); err != nil {
			return err
		}
	}
	if !d.Complete() {
		return wire.ErrCut
	}
	return nil
}

func (d *decoder) response(data []byte, r *response) error {
	if wire.Present(r.Error) {
		return &wire.Refusal{Body: data}
	}
	if bytes.Contains(r.Usage, promptCount) {
		d.usage = r.Usage
	}
	if r.PromptFeedback.BlockReason != "" {
		d.Reason = sdk.FinishContentFilter
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Index != 0 {
			continue
		}
		for j := range c.Content.Parts {
			if err := d.part(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			d.Reason = wire.FinishReason(c.FinishReason)
		}
	}
	return nil
}

// count decodes the number of tokens.
func (d *decoder) count() error {
	if d.usage == nil {
		return nil
	}
	var u usage
	if err := wire.Unmarshal(d.usage, &u); err != nil {
		return err
	}
	d.Tokens = wire.Tokens(u.Prompt-u.Cached, u.Candidates, u.Thoughts, u.Cached, 0)
	return nil
}

func (d *decoder) part(p *answerPart) error {
	var metadata sdk.Object
	if p.Signature != "" {
		metadata = sdk.Object{metaSignature: p.Signature}
	}
	if p.Call != nil {
		return d.functionCall(p.Call, metadata)
	}
	kind := sdk.StreamText
	if p.Thought {
		kind = sdk.StreamReasoning
	}
	err := d.Words(kind, p.Text, metadata)
	if metadata != nil {
		d.EndBlock() // the next text can have its own signature
	}
	return err
}

func (d *decoder) functionCall(p *callPart, metadata sdk.Object) error {
	if p.Name != "" {
		if err := d.endCall(); err != nil {
			return err
		}
		c, err := d.NewCall()
		if err != nil {
			return err
		}
		c.ID, c.Tool, c.Metadata = p.ID, toolName(p.Name), metadata
		if p.ID != "" {
			c.Metadata, _ = wire.Joined(metadata, sdk.Object{metaID: true}).(sdk.Object)
		}
		d.call = c
		if err := d.Arguments(c, ""); err != nil {
			return err
		}
	}
	if d.call == nil {
		return nil
	}
	if err := d.arguments(p); err != nil || p.Continue {
		return err
	}
	return d.endCall()
}

// arguments passes on the arguments in a part: all of them, or pieces.
func (d *decoder) arguments(p *callPart) error {
	switch {
	case d.args.path != nil: // more pieces
	case wire.Present(p.Args):
		return d.Arguments(d.call, string(p.Args))
	case d.call.Args:
		return nil
	}
	for i := range p.Partial {
		piece, err := d.args.add(&p.Partial[i])
		if err != nil {
			return err
		}
		if err := d.Arguments(d.call, string(piece)); err != nil {
			return err
		}
	}
	return nil
}

// endCall ends arguments that were streamed in pieces.
func (d *decoder) endCall() error {
	if d.call == nil {
		return nil
	}
	rest := d.args.end(0)
	call := d.call
	d.call, d.args = nil, partialArgs{}
	return d.Arguments(call, string(rest))
}

// Finish ends the answer.
func (d *decoder) Finish() error {
	if err := errors.Join(d.endCall(), d.count()); err != nil {
		return err
	}
	return d.Answer.Finish()
}
