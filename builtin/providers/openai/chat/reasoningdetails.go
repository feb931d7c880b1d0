package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Keys of the metadata of reasoning, text and tool calls, which later requests contain.
const (
	metaField   = "field"         // the field that contained the reasoning
	metaDetails = "details"       // the value of reasoning_details
	metaOpaque  = "opaque"        // Copilot's sealed reasoning
	metaSources = "citations"     // of a text; not sent back
	metaExtra   = "extra_content" // of a tool call
)

// fieldSize is the approximate memory in bytes of a field, in addition to its name and value.
const fieldSize = 128

// reasoningDetails joins the deltas of OpenRouter's reasoning_details. They are sent back as one list in
// their original order.
type reasoningDetails struct {
	list []*reasoningDetail
}

type reasoningDetail struct {
	fields map[string]any
	texts  map[string]*strings.Builder // the fields that are joined
}

// add joins deltas and counts the kept data in the answer.
func (r *reasoningDetails) add(answer *wire.Answer, deltas []map[string]json.RawMessage) {
	for _, delta := range deltas {
		n := len(r.list)
		if n == 0 || !r.list[n-1].continues(delta) {
			if n == wire.MaxItems {
				answer.Fail(fmt.Errorf("%w: more than %d entries of reasoning_details", sdk.ErrAnswerLimit, wire.MaxItems))
				return
			}
			r.list = append(r.list, &reasoningDetail{fields: map[string]any{}, texts: map[string]*strings.Builder{}})
		}
		r.list[len(r.list)-1].add(answer, delta)
	}
}

// continues reports whether a delta belongs to the same entry.
func (d *reasoningDetail) continues(delta map[string]json.RawMessage) bool {
	for _, name := range []string{"type", "index"} {
		var v any
		if raw := delta[name]; raw != nil && wire.Unmarshal(raw, &v) != nil || wire.Scalar(d.fields[name]) != wire.Scalar(v) {
			return false
		}
	}
	return true
}

func (d *reasoningDetail) add(answer *wire.Answer, delta map[string]json.RawMessage) {
	for name, raw := range delta {
		if raw[0] == '"' && (name == "text" || name == "summary" || name == "data") {
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			text := wire.Text(raw)
			d.texts[name].WriteString(text)
			answer.Keep(len(text))
			continue
		}
		old, known := d.fields[name]
		if old != nil && !wire.Present(raw) {
			continue
		}
		if !known {
			answer.Keep(len(name) + fieldSize)
		}
		var v any
		answer.KeepJSON(raw, &v)
		d.fields[name] = v
	}
}

// metadata returns the whole list as the metadata of its block.
func (r *reasoningDetails) metadata() sdk.Object {
	list := make([]any, len(r.list))
	for i, d := range r.list {
		for name, b := range d.texts {
			d.fields[name] = b.String()
		}
		list[i] = d.fields
	}
	return sdk.Object{metaField: "reasoning_details", metaDetails: list}
}
