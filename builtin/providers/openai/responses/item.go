package responses

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// output handles an event about an output item. Events of other types add nothing.
func (d *decoder) output(ev *event) error {
	if open := d.items[ev.OutputIndex]; open != nil && open.closed && ev.Type == "response.output_item.added" {
		delete(d.items, ev.OutputIndex) // a server that numbers every item 0
	}
	item, err := d.item(ev.OutputIndex)
	if err != nil {
		return err
	}
	switch ev.Type {
	case "response.output_item.added":
		return d.itemAdded(item, ev.Item)
	case "response.output_item.done":
		return d.itemDone(item, ev.Item)
	case "response.output_text.delta", "response.refusal.delta":
		return d.say(item, sdk.StreamText, ev.Delta, nil)
	case "response.reasoning_summary_text.delta":
		return d.reasoning(item, ev, ev.SummaryIndex)
	case "response.reasoning_text.delta":
		return d.reasoning(item, ev, ev.ContentIndex)
	case "response.function_call_arguments.delta":
		return d.itemArguments(item, ev.Delta)
	case "response.function_call_arguments.done":
		if item.call == nil || !item.call.Args {
			return d.itemArguments(item, wire.ArgumentsText(ev.Arguments))
		}
	}
	return nil
}

func (d *decoder) item(index int) (*openItem, error) {
	item := d.items[index]
	if item == nil {
		if d.count == wire.MaxItems {
			return nil, fmt.Errorf("%w: more than %d output items", sdk.ErrAnswerLimit, wire.MaxItems)
		}
		item = &openItem{index: d.count}
		d.items[index] = item
		d.count++
	}
	return item, nil
}

// callOf returns the call of an item and creates it on first use.
func (d *decoder) callOf(item *openItem) (c *wire.Call, err error) {
	if item.call == nil {
		item.call, err = d.NewCall()
	}
	return item.call, err
}

func (d *decoder) itemArguments(item *openItem, delta string) error {
	c, err := d.callOf(item)
	if err != nil {
		return err
	}
	return d.Arguments(c, delta)
}

// say passes on a delta of an item's text or reasoning. Each item is its own block.
func (d *decoder) say(item *openItem, kind, text string, metadata sdk.Object) error {
	item.spoke = item.spoke || text != ""
	return d.BlockWords(item.index, kind, text, metadata)
}

// reasoning passes on a delta of reasoning, with a blank line between its parts.
func (d *decoder) reasoning(item *openItem, ev *event, part int) error {
	item.source = cmp.Or(item.source, ev.Type)
	if item.source != ev.Type || ev.Delta == "" {
		return nil
	}
	delta := ev.Delta
	if part != item.part && item.spoke {
		delta = "\n\n" + delta
	}
	item.part = part
	return d.say(item, sdk.StreamReasoning, delta, nil)
}

func (d *decoder) itemAdded(item *openItem, out *outputItem) error {
	if out == nil || out.Type != "function_call" {
		return nil
	}
	return d.nameCall(item, out)
}

// nameCall announces the call of an item. Its arguments follow, or arrived before.
func (d *decoder) nameCall(item *openItem, out *outputItem) error {
	c, err := d.callOf(item)
	if err != nil {
		return err
	}
	c.ID, c.Tool = cmp.Or(c.ID, out.CallID), cmp.Or(c.Tool, out.Name)
	return d.Arguments(c, "")
}

// itemDone handles a finished item: it passes on text and arguments that did not arrive as deltas, and the metadata.
func (d *decoder) itemDone(item *openItem, out *outputItem) error {
	if out == nil || item.closed {
		return nil
	}
	item.closed = true
	switch out.Type {
	case "function_call":
		if err := d.nameCall(item, out); err != nil {
			return err
		}
		if !item.call.Args {
			return d.Arguments(item.call, wire.ArgumentsText(out.Arguments))
		}
	case "message":
		return d.messageDone(item, out)
	case "reasoning":
		return d.reasoningDone(item, out)
	}
	return nil
}

func (d *decoder) messageDone(item *openItem, out *outputItem) error {
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
	return d.say(item, sdk.StreamText, text.String(), metadata)
}

func (d *decoder) reasoningDone(item *openItem, out *outputItem) error {
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
	return d.say(item, sdk.StreamReasoning, text, metadata)
}
