package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Look is what items need to draw themselves. Its owner changes Version with Theme and Directory.
type Look struct {
	Theme     *draw.Theme
	Directory string // paths below it are shown relative to it
	Version   int
	Now       func() time.Time
	Child     func(session string) string // describes what a subagent's session does
}

// item is an entry of the transcript. Its lines are rendered once for a width and a look, and again when it changes.
type item struct {
	id, message string
	source      string   // of a prompt: what the user typed
	files       []string // of a prompt: paths of attached files that it does not mention
	look        *Look
	draw        func(width int) []string
	folds, open bool // it has details; they are shown
	fresh       bool // an event has shown it since the stored session was read last

	width, version int // of lines
	lines          []string
	stale          bool
	selected       bool
}

// Lines implements list.Item.
func (i *item) Lines(width int) []string {
	if i.stale || i.lines == nil || i.width != width || i.version != i.look.Version {
		i.width, i.version, i.stale = width, i.look.Version, false
		i.lines = i.draw(width)
		if i.selected && len(i.lines) > 0 {
			lines := append([]string(nil), i.lines...)
			for k, line := range lines {
				if strings.TrimSpace(line) != "" {
					lines[k] = draw.Paint(i.look.Theme.Accent, "▌") + strings.TrimPrefix(line, " ")
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

func (i *item) base() *item { return i }

func (i *item) change() { i.stale = true }

func (i *item) unfold(open bool) {
	if i.folds {
		i.open = open
		i.change()
	}
}

func (i *item) mark(on bool) {
	i.selected = on
	i.change()
}

// margin is the space left of the transcript.
const margin = "  "

// userItem is a prompt.
func userItem(k *Look, m *sdk.MessageWithParts) *item {
	i := &item{id: m.Info.Head().ID, message: m.Info.Head().ID, look: k}
	text := view.TypedText(m.Parts)
	i.source = view.Draft(m.Parts)
	var notes []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *sdk.FilePart:
			if p.Source == nil || p.Source.Text == nil { // the text does not mention it
				notes = append(notes, terminal.OneLine(p.Filename))
				if p.Source != nil && p.Source.Path != "" {
					i.files = append(i.files, p.Source.Path)
				}
			}
		case *sdk.CompactionPart:
			notes = append(notes, "summarizing the conversation; then the model sees the summary instead of what is above")
		case *sdk.SubtaskPart:
			notes = append(notes, "subtask for "+terminal.OneLine(p.Agent)+": "+view.Clip(terminal.OneLine(p.Prompt), 300))
		}
	}
	if text == "" && len(notes) == 0 {
		return nil
	}
	i.draw = func(width int) []string {
		bar := draw.Paint(k.Theme.User, "┃") + " "
		out := []string{""}
		if text != "" {
			out = append(out, draw.Indent(bar, draw.Wrap(strings.TrimRight(visible.Prose(plain(text)), "\n"), width-2))...)
		}
		for _, note := range notes {
			out = append(out, draw.Indent(bar, draw.Wrap(draw.Paint(k.Theme.Faint, note), width-2))...)
		}
		return out
	}
	return i
}

// noticeItem is a line about the session itself.
func noticeItem(k *Look, style func(*draw.Theme) string, text string) *item {
	i := &item{look: k}
	i.draw = func(width int) []string {
		lines := draw.Wrap(visible.Text(text), width-2*len(margin))
		for n := range lines {
			lines[n] = margin + draw.Paint(style(k.Theme), lines[n])
		}
		return append([]string{""}, lines...)
	}
	return i
}

// Faint, Warn and Fail are the looks of notices.
func Faint(t *draw.Theme) string { return t.Faint }

// Warn: see Faint.
func Warn(t *draw.Theme) string { return t.Warn }

// Fail: see Faint.
func Fail(t *draw.Theme) string { return t.Fail }

// turnItem describes a finished turn in one line. In a narrow window, the last figures are left out.
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
		for shown > 1 && ansi.StringWidth(strings.Join(words[:shown], " · ")) > width-2*len(margin) {
			shown--
		}
		return []string{"", margin + draw.Paint(k.Theme.Faint, draw.Fit(strings.Join(words[:shown], " · "), width-2*len(margin)))}
	}}
}

// ProblemText returns an error of a turn.
func ProblemText(e *sdk.NamedError) string {
	text := cmp.Or(terminal.OneLine(e.Error()), e.Name)
	return "error: " + text
}
