package wasm

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Limits of the log lines of one plugin.
const (
	maxWrite = 64 << 10 // bytes of one text that are looked at
	minLevel = slog.LevelDebug
	maxLevel = slog.LevelError
)

// writeLog writes a line of the guest. Of a large text, which may be all of the guest's memory, only the beginning is looked at.
func (p *plugin) writeLog(ctx context.Context, level int32, text []byte) {
	log := p.log.Load()
	l := min(max(slog.Level(level), minLevel), maxLevel)
	if log.Enabled(ctx, l) && p.lines.Take(log) {
		log.Log(ctx, l, visible.Clean(string(text[:min(len(text), maxWrite)]), remote.MaxLine))
	}
}

// outputLog is where stdout and stderr of a guest go: each line becomes one of the log. One goroutine at a time uses it.
type outputLog struct {
	plugin *plugin
	guard  *guard
	level  slog.Level
	line   []byte // the beginning of a line
}

// Write takes any text and fails when the guest's time is over. Of a large text only the beginning is looked at.
func (o *outputLog) Write(text []byte) (int, error) {
	if o.guard.expired() {
		return 0, o.guard.current.fault
	}
	n := len(text)
	text = text[:min(n, maxWrite)]
	for {
		line, rest, found := bytes.Cut(text, []byte("\n"))
		if room := remote.MaxLine - len(o.line); len(line) > room {
			line = line[:room]
		}
		o.line = append(o.line, line...)
		if !found {
			return n, nil
		}
		if len(o.line) > 0 {
			o.plugin.writeLog(guest.Detached(), int32(o.level), o.line)
		}
		o.line, text = o.line[:0], rest
	}
}
