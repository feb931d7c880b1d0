package remote

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

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

var crash = lazyregexp.New(`^(panic|fatal error|SIG[A-Z]+): `)

// NamesCrash reports whether Go's runtime names the cause of a crash in this line of output. A trace of goroutines follows the line.
func NamesCrash(line []byte) bool { return crash().Match(line) }
