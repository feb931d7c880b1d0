package list_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
)

// item has n lines and counts how often it was asked for them.
type item struct {
	name  string
	n     int
	asked *int
}

func (i item) Lines(int) []string {
	*i.asked++
	out := make([]string, i.n)
	for k := range out {
		out[k] = fmt.Sprint(i.name, k)
	}
	return out
}

func (i item) Row(int) bool { return i.name == "row" }

func filled(asked *int, sizes ...int) *list.List[item] {
	l := &list.List[item]{}
	for i, n := range sizes {
		l.Items = append(l.Items, item{string(rune('a' + i)), n, asked})
	}
	return l
}

func check(t *testing.T, l *list.List[item], what string, height int, want ...string) {
	t.Helper()
	if got := l.View(80, height); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestScroll(t *testing.T) {
	t.Parallel()
	asked := 0
	l := filled(&asked, 2, 0, 3, 2)
	check(t, l, "at the end", 3, "c2", "d0", "d1")
	l.Scroll(-2)
	check(t, l, "up", 3, "c0", "c1", "c2")
	l.Items = append(l.Items, item{"e", 4, &asked})
	check(t, l, "the list grows", 3, "c0", "c1", "c2")
	if l.Following() {
		t.Error("follows although it was scrolled up")
	}
	if at := l.At(1); at != 2 {
		t.Errorf("At(1) = %d, want 2", at)
	}
	l.Scroll(-100)
	check(t, l, "beyond the beginning", 3, "a0", "a1", "c0")
	l.Scroll(1)
	check(t, l, "down", 3, "a1", "c0", "c1")
	l.Scroll(100)
	check(t, l, "beyond the end", 3, "e1", "e2", "e3")
	l.Items = append(l.Items, item{"f", 1, &asked})
	check(t, l, "follows again", 3, "e2", "e3", "f0")
	l.Home()
	check(t, l, "home", 2, "a0", "a1")
	l.Show(2, 0)
	check(t, l, "an item", 2, "c0", "c1")
	check(t, l, "higher window", 20, "a0", "a1", "c0", "c1", "c2", "d0", "d1", "e0", "e1", "e2", "e3", "f0")
}

// A list that fits the window, or whose end has been reached, has nothing below before it is drawn again.
func TestFollowing(t *testing.T) {
	t.Parallel()
	asked := 0
	l := filled(&asked, 2, 2)
	for what, c := range map[string]struct {
		height int
		move   func()
		want   bool
	}{
		"home, all fits":   {4, l.Home, true},
		"home":             {3, l.Home, false},
		"up, all fits":     {4, func() { l.Scroll(-9) }, true},
		"up and down":      {3, func() { l.Scroll(-9); l.Scroll(9) }, true},
		"down, not so far": {2, func() { l.Home(); l.Scroll(1) }, false},
	} {
		l.End()
		l.View(80, c.height)
		c.move()
		if got := l.Following(); got != c.want {
			t.Errorf("%s: Following() = %v", what, got)
		}
	}
}

// TestOnlyWhatFits: a long list is not asked for all its lines.
func TestOnlyWhatFits(t *testing.T) {
	t.Parallel()
	asked := 0
	l := filled(&asked, slices.Repeat([]int{5}, 10_000)...)
	l.View(80, 20)
	l.Scroll(-30)
	l.View(80, 20)
	if asked > 50 {
		t.Errorf("asked %d times for lines", asked)
	}
}

// Rows are joined to rows only, also while the list is scrolled.
func TestRows(t *testing.T) {
	t.Parallel()
	asked := 0
	l := filled(&asked, 2, 2, 2, 2, 2)
	for i := 1; i < 4; i++ {
		l.Items[i].name = "row"
	}
	check(t, l, "all", 9, "a0", "a1", "row0", "row1", "row1", "row1", "e0", "e1")
	check(t, l, "at the end", 3, "row1", "e0", "e1")
	l.Scroll(-1)
	check(t, l, "up", 3, "row1", "row1", "e0")
	l.Scroll(-4)
	check(t, l, "beginning", 3, "a0", "a1", "row0")
	l.Scroll(4)
	check(t, l, "down", 3, "row1", "row1", "e0")
}
