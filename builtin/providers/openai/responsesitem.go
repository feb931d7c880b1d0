package openai

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// output handles an event about an output item. Events of other types add nothing.
func (d *responsesDecoder) output(ev *responsesEvent) error {
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
		if item.call == nil || !item.call.args {
			return d.itemArguments(item, ev.Arguments)
		}
	}
	return nil
}

func (d *responsesDecoder) item(index int) (*openItem, error) {
	if d.items == nil {
		d.items = map[int]*openItem{}
	}
	item := d.items[index]
	if item == nil {
		if len(d.items) == maxItems {
			return nil, fmt.Errorf("%w: more than %d output items", sdk.ErrAnswerLimit, maxItems)
		}
		item = &openItem{index: index}
		d.items[index] = item
	}
	return item, nil
}

// callOf returns the call of an item and creates it on first use.
func (d *responsesDecoder) callOf(item *openItem) (c *call, err error) {
	if item.call == nil {
		item.call, err = d.newCall()
	}
	return item.call, err
}

func (d *responsesDecoder) itemArguments(item *openItem, delta string) error {
	c, err := d.callOf(item)
	if err != nil {
		return err
	}
	return d.arguments(c, delta)
}

// say passes on a delta of an item's text or reasoning. Each item is its own block.
func (d *responsesDecoder) say(item *openItem, kind, text string, metadata sdk.Object) error {
	if text == "" && metadata == nil {
		return nil
	}
	item.spoke = item.spoke || text != ""
	return d.emit(sdk.StreamEvent{Type: kind, ID: kind + "-" + strconv.Itoa(item.index), Text: text, Metadata: metadata})
}

// reasoning passes on a delta of reasoning, with a blank line between its parts.
func (d *responsesDecoder) reasoning(item *openItem, ev *responsesEvent, part int) error {
	if item.source == "" {
		item.source = ev.Type
	}
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

func (d *responsesDecoder) itemAdded(item *openItem, out *outputItem) error {
	if out == nil || out.Type != "function_call" {
		return nil
	}
	return d.nameCall(item, out)
}

// nameCall announces the call of an item. Its arguments follow, or arrived before.
func (d *responsesDecoder) nameCall(item *openItem, out *outputItem) error {
	c, err := d.callOf(item)
	if err != nil {
		return err
	}
	c.id, c.tool = cmp.Or(c.id, out.CallID), cmp.Or(c.tool, out.Name)
	return d.arguments(c, "")
}

// itemDone handles a finished item: it passes on text and arguments that did not arrive as deltas, and the metadata.
func (d *responsesDecoder) itemDone(item *openItem, out *outputItem) error {
	if out == nil || item.closed {
		return nil
	}
	item.closed = true
	switch out.Type {
	case "function_call":
		if err := d.nameCall(item, out); err != nil {
			return err
		}
		if !item.call.args {
			return d.arguments(item.call, out.Arguments)
		}
	case "message":
		return d.messageDone(item, out)
	case "reasoning":
		return d.reasoningDone(item, out)
	}
	return nil
}

func (d *responsesDecoder) messageDone(item *openItem, out *outputItem) error {
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

func (d *responsesDecoder) reasoningDone(item *openItem, out *outputItem) error {
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
