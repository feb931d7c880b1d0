package transcript

import (
	"slices"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
)

// UnfoldAll shows the details of all items, or hides them if they are shown.
func (t *Thread) UnfoldAll() {
	t.open = !t.open
	for _, i := range t.List.Items {
		baseOf(i).unfold(t.open)
	}
}

// Toggle shows or hides the details of an item.
func (t *Thread) Toggle(index int) {
	if index >= 0 && index < len(t.List.Items) {
		base := baseOf(t.List.Items[index])
		base.unfold(!base.open)
	}
}

// Marked returns the index of the marked item; -1 if none is.
func (t *Thread) Marked() int {
	return slices.IndexFunc(t.List.Items, func(i list.Item) bool { return baseOf(i).marked })
}

// Mark marks the next (1) or previous (-1) item that can be folded, starting from the marked one or the end. After the last one, none is marked.
func (t *Thread) Mark(by int) {
	marked := t.Marked()
	from := marked
	if from < 0 {
		from = len(t.List.Items)
	}
	for i := from + by; i >= 0 && i < len(t.List.Items); i += by {
		if baseOf(t.List.Items[i]).folds {
			t.Unmark()
			baseOf(t.List.Items[i]).mark(true)
			t.List.Show(i)
			return
		}
	}
	if by > 0 && marked >= 0 {
		t.Unmark()
		t.List.End()
	}
}

// Unmark removes the mark.
func (t *Thread) Unmark() {
	if marked := t.Marked(); marked >= 0 {
		baseOf(t.List.Items[marked]).mark(false)
	}
}
