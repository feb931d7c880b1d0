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
	content     content
	folds, open bool // it has details; they are visible
	fresh       bool // an event has updated it since the stored session was last read

	changed bool        // the content has changed since lines were rendered
	width   int         // width of lines
	theme   *draw.Theme // theme of lines
	outside string      // data in lines that is not in the content: times, or the state of another session
	lines   []string
}

// content is what an item shows.
type content interface {
	// render returns the lines of an item. Its width and theme are those of the last call.
	render(i *item, width int) []string
}

// Lines implements list.Item.
func (i *item) Lines(width int) []string {
	outside := ""
	if c, ok := i.content.(*call); ok {
		outside = c.outside(i.look)
	}
	if i.changed || i.width != width || i.theme != i.look.Theme || i.outside != outside {
		i.lines = i.content.render(i, width)
		i.changed, i.width, i.theme, i.outside = false, width, i.look.Theme, outside
	}
	return i.lines
}

// Row implements list.Item.
func (i *item) Row(width int) bool {
	_, card := i.content.(*call)
	return card && len(i.Lines(width)) == 2
}

func (i *item) unfold(open bool) {
	if i.folds {
		i.open, i.changed = open, true
	}
}

// margin is the left margin of the transcript.
const margin = "  "

// promptHead is the number of first lines that a folded prompt shows, such as a long paste or the output of a shell command.
const promptHead = 8

// prompt is a prompt of the user. Its parts arrive one by one.
type prompt struct{ parts sdk.Parts }

// set adds or replaces a part.
func (p *prompt) set(part sdk.Part) {
	if i := slices.IndexFunc(p.parts, func(o sdk.Part) bool { return o.Head().ID == part.Head().ID }); i >= 0 {
		p.parts[i] = part
	} else {
		p.parts = append(p.parts, part)
	}
}

// shown returns the visible text of the prompt, notes about parts that the text does not mention, and the paths of the attached files among
// them. A plugin's prompt may have none of these.
func (p *prompt) shown() (text string, notes, files []string) {
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
	return view.PromptText(p.parts), notes, files
}

func (p *prompt) render(i *item, width int) []string {
	text, notes, _ := p.shown()
	if text == "" && len(notes) == 0 {
		return nil
	}
	bar := draw.Paint(i.look.Theme.User, "┃") + " "
	out := []string{""}
	if text != "" {
		lines := draw.Wrap(strings.TrimRight(visible.Prose(view.Plain(text)), "\n"), width-2)
		if !i.open {
			lines = i.cut(lines, promptHead, foldedTail)
		}
		out = append(out, draw.Indent(bar, lines)...)
	}
	for _, note := range notes {
		out = append(out, draw.Indent(bar, draw.Wrap(draw.Paint(i.look.Theme.Faint, note), width-2))...)
	}
	return out
}

// note is text about the session itself.
type note func(t *draw.Theme, width int) []string

func (n note) render(i *item, width int) []string {
	return append([]string{""}, draw.Indent(margin, n(i.look.Theme, width-2*len(margin)))...)
}

// notice is a note in one look.
func notice(style func(*draw.Theme) string, text string) note {
	return func(t *draw.Theme, width int) []string {
		return draw.PaintAll(style(t), draw.Wrap(visible.Text(text), width))
	}
}

// Faint, Warn and Fail are the looks of notices.
func Faint(t *draw.Theme) string { return t.Faint }

// Warn: see Faint.
func Warn(t *draw.Theme) string { return t.Warn }

// Fail: see Faint.
func Fail(t *draw.Theme) string { return t.Fail }

// figures returns the note with the figures of a finished turn. A narrow window omits the last ones.
func figures(agent, model string, took time.Duration, tokens sdk.Tokens, cost sdk.USD) note {
	words := []string{agent, model, view.Duration(took)}
	if tokens.Sum() > 0 {
		words = append(words, fmt.Sprintf("%s in, %s out", view.Count(tokens.Input+tokens.Cache.Read+tokens.Cache.Write), view.Count(tokens.Output+tokens.Reasoning)))
	}
	if cost > 0 {
		words = append(words, view.Money(cost))
	}
	return func(t *draw.Theme, width int) []string {
		shown := len(words)
		for shown > 1 && terminal.Columns(strings.Join(words[:shown], " · ")) > width {
			shown--
		}
		return []string{draw.Paint(t.Faint, terminal.Fit(strings.Join(words[:shown], " · "), width))}
	}
}

// text is text of the model, which grows.
type text struct {
	source strings.Builder
	faint  bool // reasoning
	ended  bool
	took   time.Duration // of reasoning

	stream *markdown.Stream
	fed    int      // number of bytes written to the stream
	blocks []string // lines of the finished blocks
}

// set replaces the text; ended means that it will not grow further.
func (t *text) set(source string, ended bool) {
	rest, grown := strings.CutPrefix(source, t.source.String())
	if !grown {
		t.source.Reset()
		t.stream = nil
		rest = source
	}
	t.source.WriteString(rest)
	t.ended = ended
}

// render writes new text to the stream. A finished block is rendered once, unless the width or the theme changes.
func (t *text) render(i *item, width int) []string {
	k := i.look.Theme
	if t.faint && !i.open {
		t.stream = nil
		return t.folded(k, width)
	}
	style, look := k.Text, ""
	if t.faint {
		style, look = markdown.Style{Code: style.Faint, Faint: style.Faint}, k.Faint
	}
	// placed adds the margin of the transcript to lines.
	placed := func(lines []string) []string { return draw.Indent(margin, draw.PaintAll(look, lines)) }
	if t.stream == nil || i.width != width || i.theme != k {
		t.stream, t.fed = markdown.NewStream(width-2*len(margin), style), 0
		t.blocks = []string{""}
	}
	source := t.source.String()
	t.stream.Write(source[t.fed:])
	t.fed = len(source)
	if t.ended {
		t.stream.Close()
	}
	t.blocks = append(t.blocks, placed(t.stream.Take())...)
	return append(t.blocks, placed(t.stream.Open())...) // overwrites the previous open block
}

// folded shows reasoning as one line: its end while it streams, then its beginning. Each column takes at least one
// byte, so text of width bytes fits.
func (t *text) folded(k *draw.Theme, width int) []string {
	head := "thinking: "
	text := terminal.OneLine(visible.Tail(t.source.String(), width-2*len(margin)-len(head)))
	if t.ended {
		head, text = "thought for "+view.Duration(t.took)+": ", terminal.OneLine(visible.Cut(t.source.String(), 400, ""))
	}
	if text == "" {
		return nil
	}
	return []string{"", terminal.Fit(margin+draw.Paint(k.Faint, head+text), width-len(margin))}
}
