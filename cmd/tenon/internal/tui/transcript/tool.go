package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// foldedHead and foldedTail are the numbers of first and last lines of output on a folded card; liveTail is for a running command.
	foldedHead, foldedTail, liveTail = 2, 4, 6
	// longArguments is the size in bytes from which a card only counts the arguments that arrive.
	longArguments = 1 << 10
	// longCall is the shortest duration shown on a card, in milliseconds.
	longCall = 1000
	// foldedDiff is the number of lines of a diff that a folded card shows.
	foldedDiff = 12
	// maxOpenLines bounds an unfolded card.
	maxOpenLines = 400
)

// toolItem is the card of a tool call.
type toolItem struct {
	item
	part     *sdk.ToolPart
	received int    // number of bytes of arguments so far
	raw      []byte // the arguments, up to longArguments
}

func (t *toolItem) set(p *sdk.ToolPart) {
	t.part = p
	t.change()
}

// arrived appends a piece of the arguments.
func (t *toolItem) arrived(delta string) {
	t.received += len(delta)
	if t.received <= longArguments {
		t.raw = append(t.raw, delta...)
	}
	t.change()
}

// subject describes the target of the call, as soon as its arguments are complete.
func (t *toolItem) subject() string {
	if t.part.State.Status == sdk.ToolPending {
		if t.received > longArguments || !json.Valid(t.raw) {
			return ""
		}
		return view.Subject(&sdk.ToolState{Input: t.raw}, t.look.Directory)
	}
	return view.Subject(&t.part.State, t.look.Directory)
}

// running reports whether the card changes with time.
func (t *toolItem) running() bool { return t.part.State.Status == sdk.ToolRunning }

func (t *toolItem) render(width int) []string {
	out := []string{"", margin + t.head(width-2*len(margin))}
	bar := margin + draw.Paint(t.look.Theme.Faint, "│") + " "
	for _, line := range t.body(width - 2*len(margin) - 2) {
		out = append(out, terminal.Fit(bar+line, width-len(margin)))
	}
	return out
}

// head is the first line of a card: state, tool, subject, figures.
func (t *toolItem) head(width int) string {
	k, s := t.look.Theme, &t.part.State
	mark := draw.Paint(k.Accent, "●")
	var notes []string
	switch s.Status {
	case sdk.ToolPending:
		mark = draw.Paint(k.Faint, "○")
		if t.received > longArguments {
			notes = append(notes, fmt.Sprintf("%d bytes of arguments", t.received))
		}
	case sdk.ToolRunning:
		if took := t.look.Now().Sub(time.UnixMilli(s.Time.Start)); s.Time.Start > 0 && took >= time.Second {
			notes = append(notes, view.Duration(took.Truncate(time.Second)))
		}
	case sdk.ToolCompleted:
		mark = draw.Paint(k.Ok, "✓")
	case sdk.ToolError:
		mark = draw.Paint(k.Fail, "✗")
	}
	if added, removed, ok := view.ChangedLines(s.Metadata); ok {
		notes = append(notes, draw.Paint(k.Ok, fmt.Sprintf("+%d", added))+" "+draw.Paint(k.Fail, fmt.Sprintf("-%d", removed)))
	}
	if code, ok := view.Number(s.Metadata["exit"]); ok && code != 0 {
		mark = draw.Paint(k.Warn, "!")
		notes = append(notes, draw.Paint(k.Fail, fmt.Sprintf("exit %d", code)))
	}
	if !s.Open() && s.Time.End-s.Time.Start >= longCall {
		notes = append(notes, draw.Paint(k.Faint, view.Duration(time.Duration(s.Time.End-s.Time.Start)*time.Millisecond)))
	}
	right := strings.Join(notes, " ")
	left := mark + " " + draw.Paint("1", terminal.OneLine(t.part.Tool)) + " "
	room := width - terminal.Columns(left) - terminal.Columns(right) - 1
	return draw.Sides(left+terminal.Fit(t.subject(), max(room, 8)), right, width)
}

// body is the rest of a card.
func (t *toolItem) body(width int) []string {
	k, s := t.look.Theme, &t.part.State
	switch {
	case s.Status == sdk.ToolPending:
		return nil
	case s.Status == sdk.ToolError:
		return draw.PaintAll(k.Fail, t.cut(draw.Wrap(visible.Text(s.Error), width), 6, 0))
	case t.part.Tool == "task":
		return t.subagent()
	case t.part.Tool == "todowrite":
		return nil // the task list shows it
	}
	if diff, _ := s.Metadata["diff"].(string); diff != "" {
		return t.cut(k.Text.Diff(trimDiff(diff)), foldedDiff, 0)
	}
	output, shell := s.Metadata["output"].(string)
	if !shell {
		output = s.Output
		if !t.open {
			return nil
		}
	}
	lines := view.OutputLines(output)
	if t.running() {
		return t.cut(lines, 0, liveTail)
	}
	return t.cut(lines, foldedHead, foldedTail)
}

// child returns the session of the subagent that the call runs, or "".
func (t *toolItem) child() string {
	id, _ := t.part.State.Metadata["sessionId"].(string)
	return id
}

// subagent describes the session of a task.
func (t *toolItem) subagent() []string {
	id := t.child()
	if id == "" {
		return nil
	}
	out := []string{}
	if text := t.look.Child(id); text != "" {
		out = append(out, text)
	}
	if t.open && t.part.State.Output != "" {
		out = append(out, view.OutputLines(t.part.State.Output)...)
	}
	return append(out, draw.Paint(t.look.Theme.Faint, "ctrl+x ↓ opens its session"))
}

// cut keeps the first and last lines of a folded card, or the last of an unfolded one, and says how many are missing.
func (t *toolItem) cut(lines []string, head, tail int) []string {
	limit := head + tail
	if t.open {
		head, tail, limit = 0, maxOpenLines, maxOpenLines
	}
	if len(lines) <= limit+1 {
		return lines
	}
	more := "… " + view.Plural(len(lines)-limit, "more line")
	if !t.open {
		more += " · ctrl+o shows them"
	}
	out := append(lines[:head:head], draw.Paint(t.look.Theme.Faint, more))
	return append(out, lines[len(lines)-tail:]...)
}

// trimDiff removes the names of the files from a diff of one file: the card names it.
func trimDiff(diff string) string {
	at := strings.Index(diff, "\n@@")
	if at < 0 || strings.Count(diff, "\n+++ ") > 1 {
		return diff
	}
	return diff[at+1:]
}
