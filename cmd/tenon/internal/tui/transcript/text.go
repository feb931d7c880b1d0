package transcript

import (
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/internal/visible"
)

// textItem is text of the model, which grows with append.
type textItem struct {
	item
	text  strings.Builder
	faint bool // reasoning

	ended bool
	took  time.Duration // of reasoning

	stream      *markdown.Stream
	streamWidth int
	streamTheme *draw.Theme
	fed         int      // number of bytes written to the stream
	blocks      []string // lines of the finished blocks
}

// set replaces the text; ended means that it will not grow further.
func (t *textItem) set(text string, ended bool) {
	switch have := t.text.String(); {
	case have == text && t.ended == ended:
		return
	case strings.HasPrefix(text, have):
		t.text.WriteString(text[len(have):])
	default:
		t.text.Reset()
		t.text.WriteString(text)
		t.stream = nil
	}
	t.ended = ended
	t.change()
}

func (t *textItem) append(delta string) {
	t.text.WriteString(delta)
	t.change()
}

// render writes new text to the stream. A finished block is rendered once, unless the width or the theme changes.
func (t *textItem) render(width int) []string {
	if t.faint && !t.open {
		t.stream = nil
		return t.folded(width)
	}
	if t.stream == nil || t.streamWidth != width || t.streamTheme != t.look.Theme {
		t.stream = markdown.NewStream(width-2*len(margin), t.style())
		t.streamWidth, t.streamTheme, t.fed = width, t.look.Theme, 0
		t.blocks = []string{""}
	}
	source := t.text.String()
	t.stream.Write(source[t.fed:])
	t.fed = len(source)
	if t.ended {
		t.stream.Close()
	}
	t.blocks = append(t.blocks, t.placed(t.stream.Take())...)
	return append(t.blocks, t.placed(t.stream.Open())...) // overwrites the previous open block
}

// placed adds the margin of the transcript to lines.
func (t *textItem) placed(lines []string) []string {
	for i, line := range lines {
		if t.faint {
			line = draw.Paint(t.look.Theme.Faint, line)
		}
		lines[i] = margin + line
	}
	return lines
}

func (t *textItem) style() markdown.Style {
	style := t.look.Theme.Text
	if t.faint {
		style = markdown.Style{Code: style.Faint, Faint: style.Faint}
	}
	return style
}

// folded shows reasoning as one line.
func (t *textItem) folded(width int) []string {
	text := terminal.OneLine(visible.Tail(t.text.String(), 400))
	head := "thinking"
	if t.ended {
		head, text = "thought for "+view.Duration(t.took), terminal.OneLine(visible.Cut(t.text.String(), 400, ""))
	}
	if text == "" {
		return nil
	}
	return []string{"", terminal.Fit(margin+draw.Paint(t.look.Theme.Faint, head+": "+text), width-len(margin))}
}
