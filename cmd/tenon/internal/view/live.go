package view

import (
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

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
		lines = append(lines, runningLine(v.s, c.part, c.received, v.turn.Directory, v.f.depth(c.part.SessionID), now))
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
