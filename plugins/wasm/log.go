package wasm

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenonhq/tenon/sdk/guest"
)

// Bounds of what one plugin writes to the log.
const (
	maxLine       = 4 << 10 // bytes
	linesPerSpan  = 200
	logSpan       = time.Second
	maxWrite      = 64 << 10 // bytes of one write that are looked at
	minLevel      = slog.LevelDebug
	maxLevel      = slog.LevelError
	droppedNotice = "lines of the log were dropped"
)

// logLimit counts the lines of a plugin.
type logLimit struct {
	mu      sync.Mutex
	start   time.Time // of the span
	lines   int       // in it
	dropped int       // since the last line that was written
}

// take reports whether a line may be written, and how many were dropped before it.
func (l *logLimit) take(now time.Time) (ok bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.start) >= logSpan {
		l.start, l.lines = now, 0
	}
	if l.lines >= linesPerSpan {
		l.dropped++
		return false, 0
	}
	l.lines++
	dropped, l.dropped = l.dropped, 0
	return true, dropped
}

// writeLog writes a line of the guest.
func (p *plugin) writeLog(ctx context.Context, level int32, text []byte) {
	log := p.log.Load()
	l := min(max(slog.Level(level), minLevel), maxLevel)
	if !log.Enabled(ctx, l) {
		return
	}
	ok, dropped := p.lines.take(time.Now())
	if !ok {
		return
	}
	if dropped > 0 {
		log.Warn(droppedNotice, "count", dropped)
	}
	log.Log(ctx, l, printable(text))
}

// printable makes text of a guest fit for a terminal: one line, no control characters, bounded.
func printable(text []byte) string {
	cut := len(text) > maxLine
	if cut {
		text = text[:maxLine]
	}
	s := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, string(bytes.TrimSpace(text)))
	if cut {
		s += " …"
	}
	return s
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
		if room := maxLine - len(o.line); len(line) > room {
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
