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

// call is a tool call, which is shown as a card.
type call struct {
	part     *sdk.ToolPart
	received int    // number of bytes of arguments so far
	raw      []byte // the arguments, up to longArguments
}

// arrived appends a piece of the arguments.
func (t *call) arrived(delta string) {
	t.received += len(delta)
	if t.received <= longArguments {
		t.raw = append(t.raw, delta...)
	}
}

// elapsed returns the time for which the call has been running; empty for less than a second.
func (t *call) elapsed(now time.Time) string {
	took := now.Sub(time.UnixMilli(t.part.State.Time.Start))
	if t.part.State.Status != sdk.ToolRunning || t.part.State.Time.Start == 0 || took < time.Second {
		return ""
	}
	return view.Duration(took.Truncate(time.Second))
}

// outside returns the data on the card that is not part of the call itself.
func (t *call) outside(look *Look) string {
	if child := t.child(); child != "" {
		return t.elapsed(look.Now()) + look.Child(child)
	}
	return t.elapsed(look.Now())
}

// subject describes the target of the call, as soon as its arguments are complete. Those of a call of the user are not streamed.
func (t *call) subject(directory string) string {
	if t.part.State.Status == sdk.ToolPending && t.received > 0 {
		if t.received > longArguments || !json.Valid(t.raw) {
			return ""
		}
		return view.Subject(&sdk.ToolState{Input: t.raw}, directory)
	}
	return view.Subject(&t.part.State, directory)
}

func (t *call) render(i *item, width int) []string {
	out := []string{"", margin + t.head(i.look, width-2*len(margin))}
	bar := margin + draw.Paint(i.look.Theme.Faint, "│") + " "
	width -= 2*len(margin) + 2
	body := t.body(i, width)
	if i.open && t.part.State.Status != sdk.ToolError { // errors are wrapped already
		body = draw.WrapDiff(body, width)
	}
	for _, line := range body {
		out = append(out, bar+terminal.Fit(line, width))
	}
	return out
}

// head is the first line of a card: state, tool, subject, figures.
func (t *call) head(look *Look, width int) string {
	k, s := look.Theme, &t.part.State
	mark := draw.Paint(k.Accent, "●")
	var notes []string
	switch s.Status {
	case sdk.ToolPending:
		mark = draw.Paint(k.Faint, "○")
		if t.received > longArguments {
			notes = append(notes, fmt.Sprintf("%d bytes of arguments", t.received))
		}
	case sdk.ToolRunning:
		if took := t.elapsed(look.Now()); took != "" {
			notes = append(notes, took)
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
	return draw.Sides(left+terminal.Fit(t.subject(look.Directory), max(room, 8)), right, width)
}

// body is the rest of a card.
func (t *call) body(i *item, width int) []string {
	k, s := i.look.Theme, &t.part.State
	switch {
	case s.Status == sdk.ToolPending:
		return nil
	case s.Status == sdk.ToolError:
		return draw.PaintAll(k.Fail, i.cut(draw.Wrap(visible.Text(s.Error), width), 6, 0))
	case t.part.Tool == "task":
		return t.subagent(i)
	case t.part.Tool == "todowrite":
		return nil // the task list shows it
	}
	if diff, _ := s.Metadata["diff"].(string); diff != "" {
		return i.cut(k.Text.Change(diff), foldedDiff, 0)
	}
	output, shell := s.Metadata["output"].(string)
	if !shell {
		output = s.Output
		if !i.open && t.part.Tool != "question" { // the user's answers are part of the conversation
			return nil
		}
	}
	lines := view.OutputLines(output)
	if t.part.Tool == "question" {
		lines = draw.Wrap(strings.Join(lines, "\n"), width)
	}
	if s.Status == sdk.ToolRunning {
		return i.cut(lines, 0, liveTail)
	}
	return i.cut(lines, foldedHead, foldedTail)
}

// child returns the session of the subagent that the call runs, or "".
func (t *call) child() string {
	id, _ := t.part.State.Metadata["sessionId"].(string)
	return id
}

// subagent describes the session of a task.
func (t *call) subagent(i *item) []string {
	id := t.child()
	if id == "" {
		return nil
	}
	var out []string
	if text := i.look.Child(id); text != "" {
		out = append(out, text)
	}
	if i.open {
		out = append(out, view.OutputLines(t.part.State.Output)...)
	}
	return append(out, draw.Paint(i.look.Theme.Faint, "ctrl+x ↓ opens its session"))
}

// cut keeps the first and last lines of a folded card, or the last lines of an unfolded one, and adds the number of missing lines.
func (i *item) cut(lines []string, head, tail int) []string {
	limit, hint := head+tail, " · ctrl+o shows them"
	if i.open {
		head, tail, limit, hint = 0, maxOpenLines, maxOpenLines, ""
	}
	if len(lines) <= limit+1 {
		return lines
	}
	more := draw.Paint(i.look.Theme.Faint, "… "+view.Plural(len(lines)-limit, "more line")+hint)
	return append(append(lines[:head:head], more), lines[len(lines)-tail:]...)
}
