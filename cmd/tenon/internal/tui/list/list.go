// Package list shows the part of a long list that fits a window. It requests lines only from items in the window, so the cost of drawing does
// not depend on the length of the list.
package list

// Item is an entry of a list. Lines is called for every drawing, so items cache their lines; their number may change between calls. Callers
// do not modify them.
type Item interface {
	Lines(width int) []string
	// Row reports whether the item is one line below a blank one. Rows that follow each other have no blank lines between them.
	Row(width int) bool
}

// List is a list in a window. It follows its end until it is scrolled up. The zero value is an empty list.
type List[I Item] struct {
	Items []I

	// first is the first visible item at the last View, and skip the number of its lines above the window. If away is set, both stay while the
	// list grows.
	first, skip   int
	away          bool
	width, height int
	rows          []int // indexes of the items in the rows of the last View
}

// Following reports whether the window is at the end of the list, also if it was scrolled there.
func (l *List[I]) Following() bool {
	if l.away {
		_, l.away = l.down()
	}
	return !l.away
}

// End scrolls to the end.
func (l *List[I]) End() { l.away = false }

// Home scrolls to the beginning.
func (l *List[I]) Home() { l.first, l.skip, l.away = 0, 0, true }

// Show scrolls so that a line of an item is at the top of the window, or as far up as the end of the list allows.
func (l *List[I]) Show(item, line int) {
	l.first, l.skip, l.away = max(0, min(item, len(l.Items)-1)), line, true
}

// Page returns the number of lines of a page: the window less two, for orientation.
func (l *List[I]) Page() int { return max(1, l.height-2) }

// View returns at most height lines.
func (l *List[I]) View(width, height int) []string {
	l.width, l.height = width, height
	if l.away {
		if lines, more := l.down(); len(lines) == height || l.first == 0 && l.skip == 0 {
			l.away = more
			return lines
		}
		l.away = false // the rest does not fill the window, so this is the end
	}
	l.first, l.skip = len(l.Items), 0
	l.back(height)
	lines, _ := l.down()
	return lines
}

// Scroll moves the window by lines, up if negative.
func (l *List[I]) Scroll(lines int) {
	if lines < 0 {
		l.back(-lines)
		l.away = true
		return
	}
	for l.skip += lines; l.first < len(l.Items)-1; l.first++ {
		n := len(l.lines(l.first))
		if l.skip < n {
			return
		}
		l.skip -= n
	}
}

// At returns the index of the item in a row of the window, or -1.
func (l *List[I]) At(row int) int {
	if row < 0 || row >= len(l.rows) {
		return -1
	}
	return l.rows[row]
}

// lines returns the lines of an item in the list.
func (l *List[I]) lines(i int) []string {
	lines := l.Items[i].Lines(l.width)
	if i > 0 && l.Items[i].Row(l.width) && l.Items[i-1].Row(l.width) {
		return lines[1:]
	}
	return lines
}

// back moves the beginning of the window up.
func (l *List[I]) back(lines int) {
	lines -= l.skip
	l.skip = 0
	for lines > 0 && l.first > 0 {
		l.first--
		lines -= len(l.lines(l.first))
	}
	l.skip = max(0, -lines)
}

// down returns the lines from the beginning of the window on, and reports whether the list has more below.
func (l *List[I]) down() (out []string, more bool) {
	out, l.rows = make([]string, 0, l.height), l.rows[:0]
	skip := l.skip
	for i := l.first; i < len(l.Items); i++ {
		lines := l.lines(i)
		for _, line := range lines[min(skip, len(lines)):] {
			if len(out) == l.height {
				return out, true
			}
			out = append(out, line)
			l.rows = append(l.rows, i)
		}
		skip = 0
	}
	return out, false
}
