package responses

import (
	"cmp"
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// event is one event of a Responses stream. Which fields count depends on Type.
type event struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	ContentIndex int             `json:"content_index"`
	Delta        string          `json:"delta"`
	Arguments    json.RawMessage `json:"arguments"`
	Item         *outputItem     `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// outputItem is an item of a model's output.
type outputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object itself
	Phase     string          `json:"phase"`
	Encrypted string          `json:"encrypted_content"`
	Content   []outputPart    `json:"content"`
	Summary   []outputPart    `json:"summary"`
}

type outputPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// response is the payload of completed, incomplete and failed, and the document that replaces a stream.
type response struct {
	Status     string          `json:"status"`
	Usage      json.RawMessage `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Output     []outputItem    `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// decoder decodes an answer of the Responses protocol.
type decoder struct {
	*wire.Answer
	items map[int]*openItem // by the server's index
}

// openItem is the state of an output item.
type openItem struct {
	*wire.Block
	source string // the event that carries its reasoning; the same text may arrive in two
	part   int    // of the reasoning
	spoke  bool   // some of its text arrived
	closed bool
}

func (d *decoder) Event(_ string, data []byte) (done bool) {
	if string(data) == "[DONE]" {
		d.Fail(wire.ErrCut) // the event that completes the answer did not arrive
		return true
	}
	var ev event
	d.Decode(data, &ev)
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.done":
		var r response
		d.Decode(ev.Response, &r)
		d.end(&r)
		return true
	case "response.failed", "error":
		d.Fail(&wire.Refusal{Body: errorOf(data, &ev)})
	case "":
		d.Refused(ev.Error, data)
	default:
		d.output(&ev)
	}
	return false
}

// errorOf returns the error object of a failure event, or the whole event.
func errorOf(data []byte, ev *event) []byte {
	var r response
	if json.Unmarshal(ev.Response, &r) == nil && wire.Present(r.Error) {
		return r.Error
	}
	return data
}

// end ends the answer. Its output counts if none arrived before.
func (d *decoder) end(r *response) {
	if wire.Present(r.Error) || r.Status == "failed" {
		d.Fail(&wire.Refusal{Body: r.Error})
	}
	if d.Began() {
		r.Output = nil
	}
	for i := range r.Output {
		d.itemDone(d.item(i), &r.Output[i])
	}
	d.Tokens = tokensOf(r.Usage)
	d.Reason = wire.FinishReason(cmp.Or(r.Incomplete.Reason, "stop"))
}

// usage is the usage of the Responses protocol.
type usage struct {
	Input        float64 `json:"input_tokens"`
	Output       float64 `json:"output_tokens"`
	Total        float64 `json:"total_tokens"`
	InputDetails struct {
		Cached float64 `json:"cached_tokens"`
		Write  float64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func tokensOf(raw json.RawMessage) sdk.Tokens {
	var u usage
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}
	}
	return wire.CountTokens(u.Input, u.Output, u.Total, u.InputDetails.Cached, u.InputDetails.Write, u.OutputDetails.Reasoning)
}
