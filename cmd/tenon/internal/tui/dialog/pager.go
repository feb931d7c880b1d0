package dialog

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
)

// Pager shows a long text on the whole screen.
type Pager struct {
	Title string
	// Draw returns the lines for a width. If nil, the pager shows Diff.
	Draw func(k *draw.Theme, width int) []string
	// Diff is a unified diff: v shows it in two columns. Head is shown above it.
	Diff, Head string
	// Section reports whether ] and [ jump to a line. If nil, they jump to the hunks of the diff.
	Section func(line string) bool

	split bool

	top, height int
	lines       []string
	width       int
	theme       *draw.Theme
}

// Scroll moves the text by lines, up if negative.
func (p *Pager) Scroll(by int) { p.top = max(0, min(p.top+by, len(p.lines)-p.height)) }

// Key implements Dialog.
func (p *Pager) Key(k tea.KeyPressMsg) bool {
	switch name := k.String(); name {
	case "esc", "q", "ctrl+c", "ctrl+f", "enter":
		return true
	case "]", "n":
		p.jump(1)
	case "[", "p":
		p.jump(-1)
	case "v":
		if p.Diff != "" {
			p.split, p.lines, p.top = !p.split, nil, 0
		}
	default:
		page := p.height - 2
		p.Scroll(map[string]int{
			"up": -1, "k": -1, "down": 1, "j": 1,
			"pgup": -page, "b": -page, "pgdown": page, "space": page, " ": page, "f": page,
			"home": -len(p.lines), "g": -len(p.lines), "end": len(p.lines), "G": len(p.lines),
		}[name])
	}
	return false
}

// jump goes to the next or previous section.
func (p *Pager) jump(by int) {
	is := p.Section
	if is == nil {
		is = func(line string) bool { return strings.HasPrefix(line, "@@") }
	}
	for i := p.top + by; i >= 0 && i < len(p.lines); i += by {
		if is(terminal.StripSGR(p.lines[i])) {
			p.top = i
			p.Scroll(0)
			return
		}
	}
}

// Paste implements Dialog.
func (p *Pager) Paste(string) {}

// View implements Dialog.
func (p *Pager) View(c Canvas) ([]string, *tea.Position) {
	k, width := c.Theme, c.Width
	if p.lines == nil || p.width != width || p.theme != k {
		p.width, p.theme = width, k
		switch {
		case p.Diff != "" && p.split:
			p.lines = draw.SplitDiff(k, p.Diff, width)
		case p.Diff != "":
			p.lines = draw.WrapDiff(k.Text.Diff(p.Diff), width)
		default:
			p.lines = p.Draw(k, width)
		}
		if p.Diff != "" && p.Head != "" {
			p.lines = append(append(draw.Wrap(p.Head, width), ""), p.lines...)
		}
	}
	p.height = c.Height - 2
	p.Scroll(0)
	where := "all"
	if len(p.lines) > p.height {
		where = fmt.Sprintf("%d%%", (p.top+p.height)*100/len(p.lines))
	}
	out := []string{draw.Sides(" "+draw.Paint(k.Accent, draw.Paint("1", p.Title)), draw.Paint(k.Faint, where)+" ", width)}
	for i := p.top; i < min(len(p.lines), p.top+p.height); i++ {
		out = append(out, terminal.Fit(p.lines[i], width))
	}
	out = append(out, make([]string, max(0, c.Height-1-len(out)))...)
	hint := "esc close · ↑ ↓ pgup pgdn"
	if p.Diff != "" {
		hint += " · ] [ hunks · v one or two columns"
	} else if p.Section != nil {
		hint += " · ] [ sections"
	}
	return append(out, c.hint(hint)), nil
}
