package chat

import (
	"encoding/json"
	"fmt"

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
// their original order. The joined fields of an entry are []byte until the end.
type reasoningDetails []map[string]any

// add joins deltas and counts the kept data in the answer.
func (r *reasoningDetails) add(answer *wire.Answer, deltas []map[string]json.RawMessage) {
	for _, delta := range deltas {
		n := len(*r)
		if n == 0 || !continues((*r)[n-1], delta) {
			if n == wire.MaxItems {
				answer.Fail(fmt.Errorf("%w: more than %d entries of reasoning_details", sdk.ErrAnswerLimit, wire.MaxItems))
				return
			}
			*r = append(*r, map[string]any{})
			n++
		}
		for name, raw := range delta {
			addField(answer, (*r)[n-1], name, raw)
		}
	}
}

// continues reports whether a delta belongs to an entry.
func continues(entry map[string]any, delta map[string]json.RawMessage) bool {
	for _, name := range []string{"type", "index"} {
		var v any
		if raw := delta[name]; raw != nil && wire.Unmarshal(raw, &v) != nil || wire.Scalar(entry[name]) != wire.Scalar(v) {
			return false
		}
	}
	return true
}

func addField(answer *wire.Answer, entry map[string]any, name string, raw json.RawMessage) {
	old, known := entry[name]
	joined, _ := old.([]byte)
	switch {
	case raw[0] == '"' && (name == "text" || name == "summary" || name == "data"):
		text := wire.Text(raw)
		answer.Keep(len(text))
		entry[name] = append(joined, text...)
	case old == nil || wire.Present(raw) && joined == nil:
		if !known {
			answer.Keep(len(name) + fieldSize)
		}
		var v any
		answer.KeepJSON(raw, &v)
		entry[name] = v
	}
}

// metadata returns the whole list as the metadata of its block.
func (r reasoningDetails) metadata() sdk.Object {
	list := make([]any, len(r))
	for i, entry := range r {
		for name, v := range entry {
			if joined, ok := v.([]byte); ok {
				entry[name] = string(joined)
			}
		}
		list[i] = entry
	}
	return sdk.Object{metaField: "reasoning_details", metaDetails: list}
}
