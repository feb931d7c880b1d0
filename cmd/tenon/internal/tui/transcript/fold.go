package transcript

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
