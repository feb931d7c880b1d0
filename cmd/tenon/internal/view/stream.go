package view

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/sdk"
)

// streamed is a text part that is being streamed.
type streamed struct {
	id      string
	written maphash.Hash     // of the text so far, which may be long
	blocks  *markdown.Stream // nil: the text is shown unrendered
}

// textPart starts or ends a block of the answer.
func (v *Text) textPart(p *sdk.TextPart) {
	closed := p.Time != nil && p.Time.End != 0
	if v.text == nil || v.text.id != p.ID {
		if closed && p.Ignored || v.finished[p.ID] {
			return
		}
		v.begin(p.ID)
		v.write(p.Text)
	}
	if !closed {
		return
	}
	same := maphash.String(v.text.written.Seed(), p.Text) == v.text.written.Sum64()
	v.endText()
	v.finished[p.ID] = true
	if !p.Ignored && !same {
		v.line(v.s.Paint(terminal.Dim, "a plugin changed this text; it now reads:"))
		v.begin(p.ID)
		v.write(p.Text)
		v.endText()
	}
	if !v.rich && !strings.HasSuffix(p.Text, "\n") {
		v.s.Stream("\n")
	}
}

// begin begins a block of the answer.
func (v *Text) begin(id string) {
	v.endText()
	v.text = &streamed{id: id}
	if v.rich {
		v.text.blocks = markdown.NewStream(v.columns(), v.s.Style())
		v.s.Flow([]string{}, nil)
	}
}

// columns returns the width of text. The last column stays free, because some terminals break lines there.
func (v *Text) columns() int { return v.s.Width() - 1 }

// write shows a piece of the current block of the answer.
func (v *Text) write(text string) {
	_, _ = v.text.written.WriteString(text) // never fails
	if !v.rich {
		v.s.Stream(terminal.Prose(text))
		return
	}
	v.text.blocks.Resize(v.columns())
	v.text.blocks.Write(text)
	v.s.Flow(v.text.blocks.Take(), v.live())
}

// endText ends the current block of the answer, if any.
func (v *Text) endText() {
	if v.text != nil && v.rich {
		v.text.blocks.Close()
		v.s.Flow(v.text.blocks.Take(), v.live())
	}
	v.text = nil
}

// Tick redraws the live lines.
func (v *Text) Tick(now time.Time) {
	if len(v.calls) > 0 || v.retry != nil || v.waits(now) {
		v.draw()
	}
}

// draw shows running work in the live lines.
func (v *Text) draw() {
	if !v.quiet {
		v.s.BottomLines(v.live())
	}
}

// live returns the live lines: the end of the current block of text, and running work.
func (v *Text) live() []string {
	var work []string
	if !v.quiet {
		work = v.work(v.now())
	}
	if v.text == nil || v.text.blocks == nil {
		return work
	}
	open := v.text.blocks.Open()
	room := max(terminal.MaxLive-len(work), 0)
	return append(slices.Clone(open[max(len(open)-room, 0):]), work...)
}

// work returns the lines of running work.
func (v *Text) work(now time.Time) []string {
	var lines []string
	for _, c := range v.calls {
		lines = append(lines, runningLine(v.s, c, v.received[c.ID], v.turn.Directory, v.f.depth(c.SessionID), now))
	}
	if v.waits(now) {
		lines = append(lines, v.s.Paint(terminal.Dim, "waiting for the model · "+Duration(roughly(now.Sub(v.asked)))))
	}
	if v.retry != nil {
		wait := max(time.UnixMilli(v.retry.Next).Sub(now), 0)
		lines = append(lines, v.s.Paint(terminal.Dim, "next attempt in "+Duration(roughly(wait))))
	}
	return lines
}
