package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	tools []sdk.ToolDefinition
	call  *wire.Call      // whose arguments arrive in pieces
	args  any             // these so far; nil: none
	usage json.RawMessage // the latest; decoded once, at the end
}

// Event handles one event.
func (d *decoder) Event(_ string, data []byte) (done bool) {
	var r response
	d.Decode(data, &r)
	d.response(data, &r)
	return false
}

func (d *decoder) response(data []byte, r *response) {
	d.Refused(r.Error, data)
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
			d.part(&c.Content.Parts[j])
		}
		if c.FinishReason != "" {
			d.Reason = wire.FinishReason(c.FinishReason)
		}
	}
}

func (d *decoder) part(p *answerPart) {
	var metadata sdk.Object
	if p.Signature != "" {
		metadata = sdk.Object{metaSignature: p.Signature}
	}
	if p.Call != nil {
		d.functionCall(p.Call, metadata)
		return
	}
	kind := sdk.StreamText
	if p.Thought {
		kind = sdk.StreamReasoning
	}
	d.Words(kind, p.Text, metadata)
	if metadata != nil {
		d.EndWords() // the next text can have its own signature
	}
}

func (d *decoder) functionCall(p *callPart, metadata sdk.Object) {
	if p.Name != "" {
		d.endCall()
		c := d.NewCall()
		c.ID, c.Tool, c.Metadata = p.ID, toolName(p.Name), metadata
		if p.ID != "" {
			c.Metadata, _ = wire.Joined(metadata, sdk.Object{metaID: true}).(sdk.Object)
		}
		d.call = c
		d.Arguments(c, "")
	}
	if d.call == nil {
		return
	}
	d.arguments(p)
	if !p.Continue {
		d.endCall()
	}
}

// arguments handles the arguments in a part: all of them, or pieces, which are passed on together at the end of the call.
func (d *decoder) arguments(p *callPart) {
	if d.call.Args {
		return // all arguments arrived at once
	}
	if d.args == nil && wire.Present(p.Args) {
		d.whole(p.Args)
		return
	}
	for i := range p.Partial {
		piece := &p.Partial[i]
		d.Keep(stepSize*len(piece.Path) + len(piece.Number) + len(piece.Bool))
		if piece.String != nil {
			d.Keep(len(*piece.String))
		}
		args, err := put(d.args, piece)
		if err != nil {
			d.Fail(err)
			return
		}
		d.args = args
	}
}

// endCall ends arguments that arrived in pieces.
func (d *decoder) endCall() {
	if d.call != nil && d.args != nil {
		args, err := json.Marshal(d.args)
		if err != nil {
			d.Fail(fmt.Errorf("%w: %w", wire.ErrMalformed, err))
		}
		d.whole(args)
	}
	d.call, d.args = nil, nil
}

// whole passes on all arguments of the call.
func (d *decoder) whole(args []byte) {
	for i := range d.tools {
		if d.tools[i].ID == d.call.Tool {
			args = restored(&d.tools[i], args)
		}
	}
	d.Arguments(d.call, string(args))
}

// Finish ends the answer.
func (d *decoder) Finish() {
	d.endCall()
	if d.usage != nil {
		var u usage
		_ = json.Unmarshal(d.usage, &u) // an invalid count is left out, so that the answer is kept
		d.Tokens = wire.Tokens(u.Prompt-u.Cached, u.Candidates, u.Thoughts, u.Cached, 0)
	}
	d.Answer.Finish()
}
