package dialog

import (
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
)

// Option is an answer of a Choice. Its key chooses it directly.
type Option struct {
	Key, Label string
	Run        func()
}

// optionKey moves between answers, and returns the index of the chosen one or -1.
func optionKey(name string, options []Option, at *int) int {
	switch name {
	case "up", "left":
		*at = (*at + len(options) - 1) % len(options)
	case "down", "right", "tab":
		*at = (*at + 1) % len(options)
	case "enter":
		return *at
	default:
		for i := range options {
			if options[i].Key == name {
				return i
			}
		}
	}
	return -1
}

// optionLines draws answers below each other, or only the current one if there is too little room. No answer is marked if at is -1.
func optionLines(k *draw.Theme, options []Option, at, width, room int) []string {
	if room < optionRows(options, width) {
		mark, keys := " ", []string(nil)
		if at >= 0 {
			mark = "› "
		}
		for i := range options {
			keys = append(keys, options[i].Key)
		}
		return []string{terminal.Fit(" "+draw.Paint(k.Selected, mark+options[max(at, 0)].Label+" ")+draw.Paint(k.Faint, " ← → · "+strings.Join(keys, " ")), width)}
	}
	var out []string
	for i := range options {
		for row, label := range draw.Wrap(options[i].Label, width-9) {
			text, key := "  "+label, ""
			if i == at {
				text = "  " + draw.Paint("1", label)
			}
			if row == 0 {
				key = draw.Paint(k.Faint, options[i].Key) + "  "
				if i == at {
					text = draw.Paint(k.Accent, "› ") + draw.Paint("1", label)
				}
			}
			out = append(out, draw.Sides(terminal.Fit(" "+text, width-6), key, width))
		}
	}
	return out
}

// optionRows returns the number of rows needed for the whole labels of options.
func optionRows(options []Option, width int) int {
	rows := 0
	for i := range options {
		rows += len(draw.Wrap(options[i].Label, width-9))
	}
	return rows
}
