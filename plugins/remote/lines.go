package remote

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// MaxLine is the maximum length of a log line of a plugin, in bytes; longer lines are cut.
const MaxLine = 4 << 10

// linesPerSecond is the maximum number of log lines of a plugin.
const linesPerSecond = 200

// LineLimit counts the log lines of a plugin. The zero value is ready. Safe for concurrent use.
type LineLimit struct {
	mu      sync.Mutex
	start   time.Time // of the second that is counted
	lines   int
	dropped int
}

// Take reports whether a line may be written now. It first passes the number of lines dropped since the last one to notice, the method of a
// logger for the level of the lines.
func (l *LineLimit) Take(notice func(message string, args ...any)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.start) >= time.Second {
		l.start, l.lines = now, 0
	}
	if l.lines >= linesPerSecond {
		l.dropped++
		return false
	}
	if l.dropped > 0 {
		notice("log lines were dropped", "count", l.dropped)
	}
	l.lines++
	l.dropped = 0
	return true
}

// Level returns the level of a line that a plugin logs. It clamps the level to those that the log can name.
func Level(level int32) slog.Level {
	return min(max(slog.Level(level), slog.LevelDebug), slog.LevelError)
}

// Cut ends a line whose rest was dropped.
const Cut = " […]"

var crash = lazyregexp.New(`^(panic|fatal error|SIG[A-Z]+): `)

// NamesCrash reports whether Go's runtime names the cause of a crash in this line of output. A trace of goroutines follows the line.
func NamesCrash(line []byte) bool { return crash().Match(line) }

// Lines splits the output of a plugin into lines of at most MaxLine bytes. It replaces the rest of longer ones by Cut.
type Lines struct {
	Take func(line []byte) // receives each line, which is valid until it returns
	line []byte
	over bool // the line was cut
}

// Write takes a piece of output.
func (l *Lines) Write(data []byte) {
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		room := MaxLine - len(l.line)
		l.over = l.over || len(line) > room
		l.line = append(l.line, line[:min(len(line), room)]...)
		if !ended {
			return
		}
		l.Flush()
		data = rest
	}
}

// Flush ends the line that was begun.
func (l *Lines) Flush() {
	if l.over {
		l.line = append(l.line, Cut...)
	}
	l.Take(l.line)
	l.line, l.over = l.line[:0], false
}
