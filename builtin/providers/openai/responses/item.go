package responses

import (
	"cmp"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// output handles an event about an output item. Events of other types add nothing.
func (d *decoder) output(ev *event) {
	if open := d.items[ev.OutputIndex]; open != nil && open.closed && ev.Type == "response.output_item.added" {
		delete(d.items, ev.OutputIndex) // a server that numbers every item 0
	}
	item := d.item(ev.OutputIndex)
	switch ev.Type {
	case "response.output_item.added":
		if ev.Item != nil && ev.Item.Type == "function_call" {
			d.nameCall(item, ev.Item)
		}
	case "response.output_item.done":
		d.itemDone(item, ev.Item)
	case "response.output_text.delta", "response.refusal.delta":
		item.say(sdk.StreamText, ev.Delta, nil)
	case "response.reasoning_summary_text.delta":
		d.reasoning(item, ev, ev.SummaryIndex)
	case "response.reasoning_text.delta":
		d.reasoning(item, ev, ev.ContentIndex)
	case "response.function_call_arguments.delta":
		d.Arguments(d.callOf(item), ev.Delta)
	case "response.function_call_arguments.done":
		if item.Call == nil || !item.Call.Args {
			d.Arguments(d.callOf(item), wire.ArgumentsText(ev.Arguments))
		}
	}
}

// item returns the state of an output item and creates it on first use.
func (d *decoder) item(index int) *openItem {
	item := d.items[index]
	if item == nil {
		item = &openItem{Block: d.NewBlock()}
		d.items[index] = item
	}
	return item
}

// callOf returns the call of an item and creates it on first use.
func (d *decoder) callOf(item *openItem) *wire.Call {
	if item.Call == nil {
		item.Call = d.NewCall()
	}
	return item.Call
}

// say passes on a delta of the item's text or reasoning.
func (item *openItem) say(kind, text string, metadata sdk.Object) {
	item.spoke = item.spoke || text != ""
	item.Say(kind, text, metadata)
}

// reasoning passes on a delta of reasoning, with a blank line between its parts.
func (d *decoder) reasoning(item *openItem, ev *event, part int) {
	item.source = cmp.Or(item.source, ev.Type)
	if item.source != ev.Type || ev.Delta == "" {
		return
	}
	delta := ev.Delta
	if part != item.part && item.spoke {
		delta = "\n\n" + delta
	}
	item.part = part
	item.say(sdk.StreamReasoning, delta, nil)
}

// nameCall announces the call of an item. Its arguments follow, or arrived before.
func (d *decoder) nameCall(item *openItem, out *outputItem) {
	c := d.callOf(item)
	c.ID, c.Tool = cmp.Or(c.ID, out.CallID), cmp.Or(c.Tool, out.Name)
	d.Arguments(c, "")
}

// itemDone handles a finished item: it passes on text and arguments that did not arrive as deltas, and the metadata.
func (d *decoder) itemDone(item *openItem, out *outputItem) {
	if out == nil || item.closed {
		return
	}
	item.closed = true
	switch out.Type {
	case "function_call":
		d.nameCall(item, out)
		if !item.Call.Args {
			d.Arguments(item.Call, wire.ArgumentsText(out.Arguments))
		}
	case "message":
		d.messageDone(item, out)
	case "reasoning":
		d.reasoningDone(item, out)
	}
}

func (d *decoder) messageDone(item *openItem, out *outputItem) {
	var text strings.Builder
	if !item.spoke {
		for _, part := range out.Content {
			text.WriteString(part.Text)
			text.WriteString(part.Refusal)
		}
	}
	var metadata sdk.Object
	if out.Phase != "" {
		metadata = sdk.Object{metaPhase: out.Phase}
	}
	item.say(sdk.StreamText, text.String(), metadata)
}

func (d *decoder) reasoningDone(item *openItem, out *outputItem) {
	text := ""
	if !item.spoke {
		parts := out.Summary
		if len(parts) == 0 {
			parts = out.Content
		}
		texts := make([]string, len(parts))
		for i, part := range parts {
			texts[i] = part.Text
		}
		text = strings.Join(texts, "\n\n")
	}
	var metadata sdk.Object
	if out.Encrypted != "" {
		metadata = sdk.Object{metaItem: out.ID, metaSecret: out.Encrypted}
	}
	item.say(sdk.StreamReasoning, text, metadata)
}
