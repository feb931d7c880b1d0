package wasm

import (
	"context"
	"log/slog"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Limits of the log lines of one plugin.
const (
	maxWrite = 64 << 10 // maximum number of bytes of one text that are processed
	minLevel = slog.LevelDebug
	maxLevel = slog.LevelError
)

// writeLog logs a line of the guest. It processes only the beginning of large texts, which may be all of the guest's memory.
func (p *plugin) writeLog(ctx context.Context, level int32, text []byte) {
	log := p.log.Load()
	l := min(max(slog.Level(level), minLevel), maxLevel)
	if log.Enabled(ctx, l) && p.lines.Take(log) {
		log.Log(ctx, l, visible.Clean(string(text[:min(len(text), maxWrite)]), remote.MaxLine))
	}
}

// outputLog logs stdout or stderr of a guest, line by line. One goroutine at a time uses it.
type outputLog struct {
	guard *guard
	lines remote.Lines
}

func newOutputLog(p *plugin, g *guard, level slog.Level) *outputLog {
	return &outputLog{g, remote.Lines{Take: func(line []byte) {
		if len(line) > 0 {
			p.writeLog(guest.Detached(), int32(level), line)
		}
	}}}
}

// Write logs complete lines. It fails if the guest must stop, and processes only the beginning of large texts.
func (o *outputLog) Write(text []byte) (int, error) {
	if o.guard.expired() {
		return 0, o.guard.current.fault
	}
	o.lines.Write(text[:min(len(text), maxWrite)])
	return len(text), nil
}
