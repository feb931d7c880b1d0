package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// pager shows a long text on the whole screen.
type pager struct {
	title string
	// draw returns the lines for a width.
	draw func(m *model, width int) []string
	// head is shown above a diff.
	head string
	// diff is the unified diff that the pager shows, if it does: v shows it in two columns.
	diff  string
	split bool

	top, height int
	lines       []string
	width       int
	theme       *theme
	section     func(line string) bool // what ] and [ jump to; nil: hunks of a diff
}

func (p *pager) full() bool { return true }

func (p *pager) scroll(by int) { p.top = max(0, min(p.top+by, len(p.lines)-p.height)) }

func (p *pager) key(_ *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	switch k.String() {
	case "esc", "q", "ctrl+c", "ctrl+f", "enter":
		return true, nil
	case "up", "k":
		p.scroll(-1)
	case "down", "j":
		p.scroll(1)
	case "pgup", "b":
		p.scroll(-p.height + 2)
	case "pgdown", "space", " ", "f":
		p.scroll(p.height - 2)
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.scroll(len(p.lines))
	case "]", "n":
		p.jump(1)
	case "[", "p":
		p.jump(-1)
	case "v":
		if p.diff != "" {
			p.split, p.lines, p.top = !p.split, nil, 0
		}
	}
	return false, nil
}

// jump goes to the next or previous section.
func (p *pager) jump(by int) {
	is := p.section
	if is == nil {
		is = func(line string) bool { return strings.HasPrefix(line, "@@") }
	}
	for i := p.top + by; i >= 0 && i < len(p.lines); i += by {
		if is(stripSGR(p.lines[i])) {
			p.top = i
			p.scroll(0)
			return
		}
	}
}

func (p *pager) paste(*model, string) {}

func (p *pager) view(m *model, width, height int) ([]string, *tea.Position) {
	if p.lines == nil || p.width != width || p.theme != m.look.theme {
		p.width, p.theme = width, m.look.theme
		switch {
		case p.diff != "" && p.split:
			p.lines = splitDiff(m.look.theme, p.diff, width)
		case p.diff != "":
			p.lines = wrapDiff(m.look.theme.text.Diff(p.diff), width)
		default:
			p.lines = p.draw(m, width)
		}
		if p.diff != "" && p.head != "" {
			p.lines = append(append(wrap(p.head, width), ""), p.lines...)
		}
	}
	p.height = height - 2
	p.scroll(0)
	k := m.look.theme
	where := "all"
	if len(p.lines) > p.height {
		where = fmt.Sprintf("%d%%", (p.top+p.height)*100/len(p.lines))
	}
	out := []string{sides(" "+paint(k.accent, paint("1", p.title)), paint(k.faint, where)+" ", width)}
	for i := p.top; i < min(len(p.lines), p.top+p.height); i++ {
		out = append(out, fit(p.lines[i], width))
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	hint := "esc close · ↑ ↓ pgup pgdn"
	if p.diff != "" {
		hint += " · ] [ hunks · v one or two columns"
	} else if p.section != nil {
		hint += " · ] [ sections"
	}
	return append(out, " "+paint(k.faint, hint)), nil
}

// splitDiff returns a unified diff in two columns, old and new.
func splitDiff(k *theme, diff string, width int) []string {
	half := max(8, (width-3)/2)
	var out, old, fresh []string
	flush := func() {
		for i := range max(len(old), len(fresh)) {
			var left, right []string
			if i < len(old) {
				left = wrapDiff(old[i:i+1], half)
			}
			if i < len(fresh) {
				right = wrapDiff(fresh[i:i+1], half)
			}
			for row := range max(len(left), len(right)) {
				out = append(out, pad(at(left, row), half)+paint(k.faint, " │ ")+at(right, row))
			}
		}
		old, fresh = nil, nil
	}
	for _, text := range k.text.Diff(diff) {
		switch plain := stripSGR(text); {
		case strings.HasPrefix(plain, "--- "), strings.HasPrefix(plain, "+++ "), strings.HasPrefix(plain, "@@"), strings.HasPrefix(plain, "diff "):
			flush()
			out = append(out, wrapDiff([]string{text}, width)...)
		case strings.HasPrefix(plain, "-"):
			if len(fresh) > 0 {
				flush()
			}
			old = append(old, text)
		case strings.HasPrefix(plain, "+"):
			fresh = append(fresh, text)
		default:
			flush()
			old, fresh = []string{text}, []string{text}
			flush()
		}
	}
	flush()
	return out
}

// at returns a line; empty behind the last one.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
