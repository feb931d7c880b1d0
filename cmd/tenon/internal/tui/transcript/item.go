package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Look holds the data that items need to draw themselves. Only Theme changes; each theme has its own address.
type Look struct {
	Theme     *draw.Theme
	Directory string // paths below it are shown relative to it
	Now       func() time.Time
	Child     func(session string) string // describes what a subagent's session does
}

// item is an entry of the transcript. Its lines are cached until its content, the width or the theme changes.
type item struct {
	id, message string
	look        *Look
	draw        func(width int) []string
	folds, open bool // it has details; they are visible
	fresh       bool // an event has updated it since the stored session was last read

	width int         // width of lines
	theme *draw.Theme // theme of lines
	lines []string    // nil: not rendered yet
}

// Lines implements list.Item.
func (i *item) Lines(width int) []string {
	if i.lines == nil || i.width != width || i.theme != i.look.Theme {
		i.width, i.theme = width, i.look.Theme
		i.lines = i.draw(width)
		if i.lines == nil {
			i.lines = []string{}
		}
	}
	return i.lines
}

func (i *item) base() *item { return i }

func (i *item) change() { i.lines = nil }

func (i *item) unfold(open bool) {
	if i.folds {
		i.open = open
		i.change()
	}
}

// margin is the left margin of the transcript.
const margin = "  "

// promptItem is a prompt. Its parts arrive one by one.
type promptItem struct {
	item
	parts sdk.Parts
}

// set adds or replaces a part.
func (p *promptItem) set(part sdk.Part) {
	if i := slices.IndexFunc(p.parts, func(o sdk.Part) bool { return o.Head().ID == part.Head().ID }); i >= 0 {
		p.parts[i] = part
	} else {
		p.parts = append(p.parts, part)
	}
	p.change()
}

// content returns the visible text of the prompt, notes about parts that the text does not mention, and the paths of the attached files among
// them. A plugin's prompt may have none of these.
func (p *promptItem) content() (text string, notes, files []string) {
	for _, part := range p.parts {
		switch p := part.(type) {
		case *sdk.FilePart:
			if p.Source == nil || p.Source.Text == nil {
				notes = append(notes, terminal.OneLine(p.Filename))
				if p.Source != nil && p.Source.Path != "" {
					files = append(files, p.Source.Path)
				}
			}
		case *sdk.CompactionPart:
			notes = append(notes, "summarizing the conversation; the model will see the summary instead of the messages above")
		case *sdk.SubtaskPart:
			notes = append(notes, "subtask for "+terminal.OneLine(p.Agent)+": "+view.Clip(terminal.OneLine(p.Prompt), 300))
		}
	}
	return view.TypedText(p.parts), notes, files
}

func (p *promptItem) render(width int) []string {
	text, notes, _ := p.content()
	if text == "" && len(notes) == 0 {
		return nil
	}
	bar := draw.Paint(p.look.Theme.User, "┃") + " "
	out := []string{""}
	if text != "" {
		out = append(out, draw.Indent(bar, draw.Wrap(strings.TrimRight(visible.Prose(view.Plain(text)), "\n"), width-2))...)
	}
	for _, note := range notes {
		out = append(out, draw.Indent(bar, draw.Wrap(draw.Paint(p.look.Theme.Faint, note), width-2))...)
	}
	return out
}

// noticeItem returns a line about the session itself.
func noticeItem(k *Look, style func(*draw.Theme) string, text string) *item {
	return &item{look: k, draw: func(width int) []string {
		lines := draw.Wrap(visible.Text(text), width-2*len(margin))
		return append([]string{""}, draw.Indent(margin, draw.PaintAll(style(k.Theme), lines))...)
	}}
}

// Faint, Warn and Fail are the looks of notices.
func Faint(t *draw.Theme) string { return t.Faint }

// Warn: see Faint.
func Warn(t *draw.Theme) string { return t.Warn }

// Fail: see Faint.
func Fail(t *draw.Theme) string { return t.Fail }

// turnItem returns a line with the figures of a finished turn. A narrow window omits the last ones.
func turnItem(k *Look, agent, model string, took time.Duration, tokens sdk.Tokens, cost sdk.USD) *item {
	words := []string{agent, model, view.Duration(took.Round(10 * time.Millisecond))}
	if tokens.Sum() > 0 {
		words = append(words, fmt.Sprintf("%s in, %s out", view.Count(tokens.Input+tokens.Cache.Read+tokens.Cache.Write), view.Count(tokens.Output+tokens.Reasoning)))
	}
	if cost > 0 {
		words = append(words, view.Money(cost))
	}
	return &item{look: k, draw: func(width int) []string {
		shown := len(words)
		for shown > 1 && terminal.Columns(strings.Join(words[:shown], " · ")) > width-2*len(margin) {
			shown--
		}
		return []string{"", margin + draw.Paint(k.Theme.Faint, terminal.Fit(strings.Join(words[:shown], " · "), width-2*len(margin)))}
	}}
}

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
