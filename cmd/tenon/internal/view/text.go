package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// reasoningLength is the maximum length of shown reasoning, in characters.
	reasoningLength = 160
	// silence is the delay of a model's answer from which the wait is shown.
	silence = 2 * time.Second
)

// Text shows a turn as text. On a terminal, the answer appears as it arrives, block by block, with the tool calls in between; the live lines show
// the incomplete block. Otherwise, each tool call is a line on stderr, and the answer goes to stdout at the end.
type Text struct {
	s      *terminal.Screen
	answer io.Writer // stdout
	footer io.Writer // stderr
	turn   *Turn
	quiet  bool
	rich   bool // Markdown is rendered, and the output of tools is shown
	f      *follower
	now    func() time.Time

	text     *streamed       // the current block of the answer
	calls    []*sdk.ToolPart // running calls
	received map[string]int  // number of bytes of arguments so far, by call
	finished map[string]bool // IDs of shown calls, texts and reasoning
	retry    *sdk.SessionStatus
	asked    time.Time // time of the pending model request; zero: none
	refused  int       // number of calls refused because no user could be asked
}

// NewText returns a view that shows the turn on s. It writes an answer that is not streamed to answer, and the figures of the turn to
// footer. If quiet, it writes only the answer.
func NewText(s *terminal.Screen, answer, footer io.Writer, turn *Turn, quiet bool) *Text {
	return &Text{
		s: s, answer: answer, footer: footer, turn: turn, quiet: quiet, rich: s.Streams && s.Rich && !turn.Raw, f: newFollower(turn.Session.ID), now: time.Now,
		finished: map[string]bool{}, received: map[string]int{},
	}
}

// Failed returns the first error of writing to the terminal, or nil.
func (v *Text) Failed() error { return v.s.Failed() }

// Event shows an event.
func (v *Text) Event(e *sdk.Event) {
	v.f.take(e)
	switch p := e.Properties.(type) {
	case *sdk.PartDelta:
		v.delta(p)
	case *sdk.PartInfo:
		v.part(p.Part)
	case *sdk.SessionStatusInfo:
		v.status(p)
	case *sdk.TodoInfo:
		if p.SessionID == v.f.root {
			v.line(TodoLine(v.s, p.Todos))
		}
	case *sdk.SessionRef:
		if e.Type == sdk.EventSessionCompacted && p.SessionID == v.f.root {
			v.line(v.s.Paint(terminal.Dim, "the conversation was summarized to free up context (undo with tenon session uncompact)"))
		}
	case *sdk.Object:
		v.template(*p)
	case *sdk.PluginNotice:
		if !v.turn.LogsNotices {
			v.line(Notice(p))
		}
	}
}

// Notice describes a problem of a plugin. If the notice is not about a hook, the message itself names the plugin.
func Notice(p *sdk.PluginNotice) string {
	if p.Hook == "" {
		return terminal.OneLine(p.Message)
	}
	return fmt.Sprintf("plugin %s %s: %s", terminal.OneLine(p.Plugin), terminal.OneLine(p.Hook), terminal.OneLine(p.Message))
}

// template shows a shell command from the template of a command before permission for it is requested. It ignores commands typed by the user.
func (v *Text) template(p sdk.Object) {
	from, _ := p["template"].(string)
	input, _ := p["input"].(json.RawMessage)
	var args struct{ Command string }
	if !strings.HasPrefix(from, "/") || p["status"] != sdk.ToolPending || json.Unmarshal(input, &args) != nil {
		return
	}
	v.line(v.s.Paint(terminal.Dim, terminal.OneLine(from)+" runs "+terminal.OneLine(args.Command)))
}

// line writes a line unless the view is quiet.
func (v *Text) line(text string) {
	if !v.quiet {
		v.s.Line(v.wrap(text))
	}
}

// wrap breaks a line about the turn at spaces, on a terminal.
func (v *Text) wrap(text string) string {
	if !v.rich {
		return text
	}
	return terminal.Wrap(text, v.columns())
}

func (v *Text) delta(d *sdk.PartDelta) {
	switch {
	case v.text != nil && d.PartID == v.text.id:
		v.heard()
		v.write(d.Delta)
	case d.Field == "raw":
		v.heard()
		v.received[d.PartID] += len(d.Delta)
	}
}

func (v *Text) part(p sdk.Part) {
	if r, ok := p.(*sdk.ReasoningPart); p.Type() != sdk.PartTypeStepStart && (!ok || r.Time.End != 0) {
		v.heard()
	}
	switch p := p.(type) {
	case *sdk.StepStartPart:
		if v.f.answers(p.Head()) {
			v.asked = v.now()
		}
	case *sdk.TextPart:
		if v.s.Streams && v.f.answers(p.Head()) && !p.Synthetic {
			v.textPart(p)
		}
	case *sdk.ReasoningPart:
		if v.f.answers(p.Head()) {
			v.reasoningPart(p)
		}
	case *sdk.ToolPart:
		if v.f.steps[p.MessageID] != nil {
			v.toolPart(p)
		}
	}
}

// heard records that the model has begun its answer. Reasoning does not count.
func (v *Text) heard() {
	shown := v.waits(v.now())
	v.asked = time.Time{}
	if shown {
		v.draw()
	}
}

// waits reports whether the wait for the model is long enough to show.
func (v *Text) waits(now time.Time) bool { return !v.asked.IsZero() && now.Sub(v.asked) >= silence }

// reasoningPart shows the beginning of finished reasoning, unless the provider hides it.
func (v *Text) reasoningPart(p *sdk.ReasoningPart) {
	if p.Time.End == 0 || p.Text == "" || v.finished[p.ID] {
		return
	}
	v.finished[p.ID] = true
	took := Duration(time.Duration(p.Time.End-p.Time.Start) * time.Millisecond)
	v.line(v.s.Paint(terminal.Dim, "thought for "+took+": "+Clip(terminal.OneLine(visible.Cut(p.Text, argumentLength, "")), reasoningLength)))
}

func (v *Text) toolPart(p *sdk.ToolPart) {
	if v.finished[p.ID] {
		return
	}
	i := slices.IndexFunc(v.calls, func(c *sdk.ToolPart) bool { return c.ID == p.ID })
	if p.State.Open() {
		fresh := i < 0 || v.calls[i].State.Status != p.State.Status
		if i < 0 {
			v.calls = append(v.calls, p)
		} else {
			v.calls[i] = p
		}
		if fresh {
			v.draw()
		}
		return
	}
	v.finished[p.ID] = true
	if i >= 0 {
		v.calls = slices.Delete(v.calls, i, i+1)
	}
	if p.State.Metadata["refusedBy"] == "headless" {
		v.refused++
	}
	v.draw()
	depth := v.f.depth(p.SessionID)
	v.line(toolLine(v.s, p, v.turn.Directory, depth, v.rich))
	if v.rich && depth == 0 {
		for _, line := range outputLines(v.s, p, v.columns()) {
			v.line(line)
		}
	}
}

func (v *Text) status(p *sdk.SessionStatusInfo) {
	if p.Status.Type != sdk.StatusRetry {
		if v.retry != nil {
			v.retry, v.asked = nil, v.now()
			v.draw()
		}
		return
	}
	v.endText()
	v.asked = time.Time{}
	status := p.Status
	if p.SessionID == v.f.root {
		v.retry = &status
	}
	wait := max(time.UnixMilli(status.Next).Sub(v.now()), 0)
	v.line(strings.Repeat("  ", v.f.depth(p.SessionID)) + v.s.Paint(terminal.Yellow, fmt.Sprintf(
		"%s; next attempt in %s (%d/%d)", Clip(terminal.OneLine(v.turn.Clean(status.Message)), errorLength), Duration(roughly(wait)), status.Attempt, v.turn.Retries)))
	v.draw()
}

// roughly rounds waits of a second or more to whole seconds.
func roughly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// TodoLine returns the task list as one line.
func TodoLine(s *terminal.Screen, list []sdk.Todo) string {
	marks := map[string]string{"in_progress": "▸", "completed": "✓", "cancelled": "✗"}
	done := 0
	var items []string
	for _, t := range list {
		if t.Status == "completed" {
			done++
		}
		item := cmp.Or(marks[t.Status], "○") + " " + Clip(terminal.OneLine(t.Content), 60)
		if t.Status == "completed" || t.Status == "cancelled" {
			item = s.Paint(terminal.Dim, item)
		}
		items = append(items, item)
	}
	return fmt.Sprintf("tasks %d/%d: %s", done, len(list), strings.Join(items, "  "))
}

// Finish writes the answer if it was not streamed, and the figures of the turn.
func (v *Text) Finish(o *Outcome) error {
	v.endText()
	v.s.BottomLines(nil)
	if err := v.writeAnswer(o); err != nil {
		return err
	}
	if o.Message == nil || o.Message.Info.Role() == sdk.RoleUser { // no answer
		return v.s.Failed()
	}
	if v.refused > 0 && !v.quiet {
		fmt.Fprintf(v.footer, "note: %s refused: no terminal to ask on; each line shows what would allow it\n", Plural(v.refused, "tool call"))
	}
	if note := Shortfall(o.Message); note != "" && o.Err == nil {
		remedy := `tenon run -c "continue"`
		if v.turn.InChat {
			remedy = `"continue"`
		}
		fmt.Fprintln(v.footer, "note: "+note+" "+remedy)
	}
	if !v.quiet {
		fmt.Fprintln(v.footer, v.s.Paint(terminal.Dim, v.wrap(v.figures(o))))
	}
	return v.s.Failed()
}

// writeAnswer writes an answer that was not streamed, or JSON on one line.
func (v *Text) writeAnswer(o *Outcome) error {
	if o.Err != nil {
		return nil
	}
	if data := structured(o.Message); len(data) > 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, data); err != nil {
			return err
		}
		b.WriteByte('\n')
		if v.s.Streams {
			v.s.Stream(terminal.Prose(b.String()))
			return nil
		}
		_, err := Escaper{v.answer}.Write(b.Bytes())
		return err
	}
	text := AnswerText(o.Message)
	if v.s.Streams || text == "" {
		return nil
	}
	_, err := io.WriteString(v.answer, strings.TrimRight(text, "\n")) // up to 16 MiB: not copied
	if err == nil {
		_, err = io.WriteString(v.answer, "\n")
	}
	return err
}

// figures returns the last line: model, steps, tokens, cost, time, and the command that continues the session.
func (v *Text) figures(o *Outcome) string {
	steps, tokens, cost := v.f.totals()
	var words []string
	if v.f.model != "" {
		words = append(words, terminal.Visible(v.f.model))
	}
	words = append(words, Plural(steps, "step"))
	if tokens.Sum() > 0 {
		words = append(words, inputText(tokens), Count(tokens.Output+tokens.Reasoning)+" out")
	}
	if cost > 0 {
		words = append(words, Money(cost))
	}
	words = append(words, Duration(o.Took.Round(time.Millisecond)))
	switch {
	case v.turn.InChat:
	case v.rich:
		words = append(words, "continue with: tenon run -c")
	default:
		words = append(words, "continue: tenon run -s "+v.f.root)
	}
	return strings.Join(words, " · ")
}
