// Package list shows the part of a long list that fits a window. Only items in the window are asked for their lines, so the cost of
// drawing does not depend on the length of the list.
package list

// Item is something with lines. It caches them itself: Lines is called with every drawing. Every call may return another number of
// lines; the caller does not change them.
type Item interface {
	Lines(width int) []string
}

// List is a list in a window. It follows its end until it is scrolled up. The zero value is an empty list.
type List struct {
	Items []Item

	// first is the first visible item and skip the number of its lines above the window, as of the last View; away means that
	// they hold although the list grows.
	first, skip   int
	away          bool
	width, height int
	rows          []place // of the last View
}

type place struct{ item, line int }

// Following reports whether the window is at the end of the list.
func (l *List) Following() bool { return !l.away }

// End scrolls to the end.
func (l *List) End() { l.away = false }

// Home scrolls to the beginning.
func (l *List) Home() { l.first, l.skip, l.away = 0, 0, len(l.Items) > 0 }

// Show scrolls so that an item is at the top of the window, or as far up as the end of the list allows.
func (l *List) Show(item int) { l.first, l.skip, l.away = max(0, min(item, len(l.Items)-1)), 0, true }

// Page returns the number of lines of a page: the window less two, for orientation.
func (l *List) Page() int { return max(1, l.height-2) }

// View returns at most height lines.
func (l *List) View(width, height int) []string {
	l.width, l.height = width, height
	if l.away {
		if lines := l.down(); len(lines) == height || l.first == 0 && l.skip == 0 {
			l.away = len(lines) == height && !l.ends()
			return lines
		}
		l.away = false // there is less below than fits: that is the end
	}
	l.up(height)
	return l.down()
}

// Scroll moves the window by lines, up if negative.
func (l *List) Scroll(lines int) {
	if lines < 0 {
		l.back(-lines)
		l.away = true
		return
	}
	if !l.away {
		return
	}
	for l.skip += lines; l.first < len(l.Items)-1; l.first++ {
		n := len(l.Items[l.first].Lines(l.width))
		if l.skip < n {
			return
		}
		l.skip -= n
	}
}

// At returns the item in a row of the window and the line of it; ok is false if there is none.
func (l *List) At(row int) (item, line int, ok bool) {
	if row < 0 || row >= len(l.rows) {
		return 0, 0, false
	}
	return l.rows[row].item, l.rows[row].line, true
}

// up puts the beginning of the window so that its end is the end of the list.
func (l *List) up(height int) {
	l.first, l.skip = len(l.Items), 0
	l.back(height)
}

// back moves the beginning of the window up.
func (l *List) back(lines int) {
	lines -= l.skip
	l.skip = 0
	for lines > 0 && l.first > 0 {
		l.first--
		lines -= len(l.Items[l.first].Lines(l.width))
	}
	l.skip = max(0, -lines)
}

// down returns the lines from the beginning of the window on.
func (l *List) down() []string {
	out := make([]string, 0, l.height)
	l.rows = l.rows[:0]
	skip := l.skip
	for i := l.first; i < len(l.Items) && len(out) < l.height; i++ {
		lines := l.Items[i].Lines(l.width)
		for k := min(skip, len(lines)); k < len(lines) && len(out) < l.height; k++ {
			out = append(out, lines[k])
			l.rows = append(l.rows, place{i, k})
		}
		skip = 0
	}
	return out
}

// ends reports whether the last line of the window is the last of the list.
func (l *List) ends() bool {
	if len(l.rows) == 0 {
		return true
	}
	last := l.rows[len(l.rows)-1]
	for i := last.item; i < len(l.Items); i++ {
		n := len(l.Items[i].Lines(l.width))
		if i == last.item && last.line < n-1 || i > last.item && n > 0 {
			return false
		}
	}
	return true
}
