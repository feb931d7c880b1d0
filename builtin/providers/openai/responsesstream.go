package openai

import (
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// responsesEvent is one event of a Responses stream. Which fields count depends on Type.
type responsesEvent struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	ContentIndex int             `json:"content_index"`
	Delta        string          `json:"delta"`
	Arguments    string          `json:"arguments"`
	Item         *outputItem     `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// outputItem is an item of a model's output.
type outputItem struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	CallID    string       `json:"call_id"`
	Name      string       `json:"name"`
	Arguments string       `json:"arguments"`
	Phase     string       `json:"phase"`
	Encrypted string       `json:"encrypted_content"`
	Content   []outputPart `json:"content"`
	Summary   []outputPart `json:"summary"`
}

type outputPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// response is what completed, incomplete and failed carry, and the document that takes a stream's place.
type response struct {
	Status     string          `json:"status"`
	Usage      json.RawMessage `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Output     []outputItem    `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// responsesDecoder decodes an answer of the Responses protocol.
type responsesDecoder struct {
	*answer
	items map[int]*openItem
}

// openItem is what is known of an output item.
type openItem struct {
	index  int
	call   *call
	source string // the event its reasoning comes by: the same thoughts may come by two
	part   int    // of the reasoning
	spoke  bool   // some of its text came
	closed bool
}

// complete is always false: the event that completes the answer is the last one.
func (d *responsesDecoder) complete() bool { return false }

func (d *responsesDecoder) event(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		return true, errCut // what completes the answer would have ended it before
	}
	var ev responsesEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return false, fmt.Errorf("%w: event %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.done":
		var r response
		if err := json.Unmarshal(ev.Response, &r); err != nil {
			return false, fmt.Errorf("%w: event %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
		}
		return true, d.end(&r)
	case "response.failed", "error":
		return true, &refusal{body: errorOf(data, &ev)}
	case "":
		if present(ev.Error) {
			return true, &refusal{body: data}
		}
		return false, nil
	}
	return false, d.output(&ev)
}

// errorOf returns the part of a failure's event that tells why.
func errorOf(data []byte, ev *responsesEvent) []byte {
	var r response
	if json.Unmarshal(ev.Response, &r) == nil && present(r.Error) {
		return r.Error
	}
	return data
}

func (d *responsesDecoder) whole(data []byte) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		if json.Valid(data) && readError(data).message != "" {
			return &refusal{body: data}
		}
		return fmt.Errorf("%w: %q: %w", errMalformed, visible.Cut(string(data), 200, "…"), err)
	}
	if present(r.Error) || r.Status == "" {
		return &refusal{body: data}
	}
	for i := range r.Output {
		item, err := d.item(i)
		if err != nil {
			return err
		}
		if err := d.itemDone(item, &r.Output[i]); err != nil {
			return err
		}
	}
	return d.end(&r)
}

func (d *responsesDecoder) end(r *response) error {
	if present(r.Error) {
		return &refusal{body: r.Error}
	}
	d.tokens = responsesTokens(r.Usage)
	switch r.Incomplete.Reason {
	case "":
		d.reason = sdk.FinishStop
	case "max_output_tokens":
		d.reason = sdk.FinishLength
	case "content_filter":
		d.reason = sdk.FinishContentFilter
	default:
		d.reason = sdk.FinishOther
	}
	return nil
}
