package chat

import (
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

// reasoningDetails joins the deltas of OpenRouter's reasoning_details. They are sent back as one list in
// their original order.
type reasoningDetails struct {
	list []*reasoningDetail
	size int // approximate size of all deltas in bytes
}

type reasoningDetail struct {
	fields map[string]any
	texts  map[string]*strings.Builder // the fields that are joined
}

func (r *reasoningDetails) add(deltas []map[string]any) error {
	for _, delta := range deltas {
		var d *reasoningDetail
		if n := len(r.list); n > 0 && r.list[n-1].continues(delta) {
			d = r.list[n-1]
		} else {
			d = &reasoningDetail{fields: map[string]any{}, texts: map[string]*strings.Builder{}}
			if len(r.list) == wire.MaxItems {
				return fmt.Errorf("%w: more than %d entries of reasoning_details", sdk.ErrAnswerLimit, wire.MaxItems)
			}
			r.list = append(r.list, d)
		}
		if r.size += d.add(delta); r.size > sdk.MaxModelAnswerBytes {
			return fmt.Errorf("%w: reasoning_details of more than %d MiB", sdk.ErrAnswerLimit, sdk.MaxModelAnswerBytes>>20)
		}
	}
	return nil
}

func (d *reasoningDetail) continues(delta map[string]any) bool {
	return wire.Scalar(d.fields["type"]) == wire.Scalar(delta["type"]) && wire.Scalar(d.fields["index"]) == wire.Scalar(delta["index"])
}

// add joins a delta and returns its approximate size in bytes.
func (d *reasoningDetail) add(delta map[string]any) (size int) {
	for name, v := range delta {
		s, isText := v.(string)
		switch {
		case v == nil && d.fields[name] != nil:
		case isText && (name == "text" || name == "summary" || name == "data"):
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			d.texts[name].WriteString(s)
		default:
			d.fields[name] = v
		}
		size += len(name) + len(s)
		if !isText {
			size += len(fmt.Sprint(v))
		}
	}
	return size
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
