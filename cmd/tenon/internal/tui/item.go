package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// look is what items need to know to draw themselves. A change of it changes its version.
type look struct {
	theme     *theme
	directory string // paths below it are shown relative to it
	version   int
}

// item is an entry of the transcript. Its lines are rendered once for a width and a look, and again when it changes.
type item struct {
	id, message string
	source      string // of a prompt: what the user typed
	look        *look
	draw        func(width int) []string
	fold        *folding // nil: it cannot be folded

	width, version int // of lines
	lines          []string
	stale          bool
	selected       bool
}

// folding says whether the details of an item are shown.
type folding struct{ open bool }

// Lines implements list.Item.
func (i *item) Lines(width int) []string {
	if i.stale || i.lines == nil || i.width != width || i.version != i.look.version {
		i.width, i.version, i.stale = width, i.look.version, false
		i.lines = i.draw(width)
		if i.selected && len(i.lines) > 0 {
			lines := append([]string(nil), i.lines...)
			for k, line := range lines {
				if strings.TrimSpace(line) != "" {
					lines[k] = paint(i.look.theme.accent, "▌") + strings.TrimPrefix(line, " ")
				}
			}
			i.lines = lines
		}
		if i.lines == nil {
			i.lines = []string{}
		}
	}
	return i.lines
}

func (i *item) change() { i.stale = true }

// margin is the space left of the transcript.
const margin = "  "

// userItem is a prompt.
func userItem(k *look, m *sdk.MessageWithParts) *item {
	i := &item{id: m.Info.Head().ID, message: m.Info.Head().ID, look: k}
	text := view.TypedText(m.Parts)
	i.source = text
	var notes []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *sdk.FilePart:
			if p.Source == nil {
				notes = append(notes, oneLine(p.Filename))
			}
		case *sdk.CompactionPart:
			notes = append(notes, "the conversation is summarized here; the model sees the summary from now on")
		case *sdk.SubtaskPart:
			notes = append(notes, "subtask for "+oneLine(p.Agent)+": "+view.Clip(oneLine(p.Prompt), 300))
		}
	}
	if text == "" && len(notes) == 0 {
		return nil
	}
	i.draw = func(width int) []string {
		bar := paint(k.theme.user, "┃") + " "
		out := []string{""}
		if text != "" {
			out = append(out, indent(bar, wrap(strings.TrimRight(visible.Prose(text), "\n"), width-2))...)
		}
		for _, note := range notes {
			out = append(out, indent(bar, wrap(paint(k.theme.faint, note), width-2))...)
		}
		return out
	}
	return i
}

// textItem is text of the model. It grows with append.
type textItem struct {
	item
	text  strings.Builder
	faint bool // reasoning

	ended bool
	took  time.Duration // of reasoning

	stream        *markdown.Stream
	streamWidth   int
	streamVersion int
	fed           int      // bytes of source in the stream
	blocks        []string // lines of the blocks that have ended
}

func newTextItem(k *look, h *sdk.PartHead, reasoning bool) *textItem {
	t := &textItem{item: item{id: h.ID, message: h.MessageID, look: k}, faint: reasoning}
	t.draw = t.render
	if reasoning {
		t.fold = &folding{}
	}
	return t
}

// set replaces the text; ended means that it does not grow any more.
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

// render feeds the stream what is new. A finished block is rendered once; another width or look begins again.
func (t *textItem) render(width int) []string {
	if t.faint && !t.fold.open {
		t.stream = nil
		return t.folded(width)
	}
	if t.stream == nil || t.streamWidth != width || t.streamVersion != t.look.version {
		t.stream = markdown.NewStream(width-2*len(margin), t.style())
		t.streamWidth, t.streamVersion, t.fed = width, t.look.version, 0
		t.blocks = []string{""}
	}
	source := t.text.String()
	t.stream.Write(source[t.fed:])
	t.fed = len(source)
	if t.ended {
		t.stream.Close()
	}
	t.blocks = append(t.blocks, t.placed(t.stream.Take())...)
	return append(t.blocks, t.placed(t.stream.Open())...) // overwrites the open block of the last call
}

// placed returns lines with the margin of the transcript.
func (t *textItem) placed(lines []string) []string {
	for i, line := range lines {
		if t.faint {
			line = paint(t.look.theme.faint, line)
		}
		lines[i] = margin + line
	}
	return lines
}

func (t *textItem) style() markdown.Style {
	style := t.look.theme.text
	if t.faint {
		style = markdown.Style{Code: style.Faint, Faint: style.Faint}
	}
	return style
}

// folded shows reasoning as one line.
func (t *textItem) folded(width int) []string {
	text := oneLine(visible.Tail(t.text.String(), 400))
	head := "thinking"
	if t.ended {
		head, text = "thought for "+view.Duration(t.took), oneLine(visible.Cut(t.text.String(), 400, ""))
	}
	if text == "" {
		return nil
	}
	return []string{"", fit(margin+paint(t.look.theme.faint, head+": "+text), width-len(margin))}
}

// noticeItem is a line about the session itself.
func noticeItem(k *look, style func(*theme) string, text string) *item {
	i := &item{look: k}
	i.draw = func(width int) []string {
		lines := wrap(visible.Text(text), width-2*len(margin))
		for n := range lines {
			lines[n] = margin + paint(style(k.theme), lines[n])
		}
		return append([]string{""}, lines...)
	}
	return i
}

func faintLook(t *theme) string { return t.faint }
func warnLook(t *theme) string  { return t.warn }
func failLook(t *theme) string  { return t.fail }

// turnItem describes a finished turn in one line. In a narrow window, the last figures are left out.
func turnItem(k *look, agent, model string, took time.Duration, tokens sdk.Tokens, cost sdk.USD) *item {
	words := []string{agent, model, view.Duration(took.Round(10 * time.Millisecond))}
	if tokens.Sum() > 0 {
		words = append(words, fmt.Sprintf("%s in, %s out", view.Count(tokens.Input+tokens.Cache.Read+tokens.Cache.Write), view.Count(tokens.Output+tokens.Reasoning)))
	}
	if cost > 0 {
		words = append(words, view.Money(cost))
	}
	return &item{look: k, draw: func(width int) []string {
		shown := len(words)
		for shown > 1 && ansi.StringWidth(strings.Join(words[:shown], " · ")) > width-2*len(margin) {
			shown--
		}
		return []string{"", margin + paint(k.theme.faint, fit(strings.Join(words[:shown], " · "), width-2*len(margin)))}
	}}
}
