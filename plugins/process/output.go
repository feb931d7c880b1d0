package process

import (
	"bytes"
	"cmp"
	"log/slog"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
)

// printed logs the output of a process, line by line: lines are cut at remote.MaxLine and dropped when there are too many. Write never
// fails. Safe for use from many goroutines.
type printed struct {
	log    *slog.Logger
	budget *remote.LineLimit
	stream string // stdout or stderr

	mu    sync.Mutex
	line  []byte
	over  bool   // the rest of the line is left out
	cause string // the line that says why the process ended, as far as one can tell
	last  string
}

// Write takes a piece of output.
func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for rest := data; len(rest) > 0; {
		line, after, end := bytes.Cut(rest, []byte("\n"))
		rest = after
		room := remote.MaxLine - len(p.line)
		if len(line) > room {
			line, p.over = line[:room], true
		}
		p.line = append(p.line, line...)
		if end {
			p.flush()
		}
	}
	return len(data), nil
}

// flush logs the line that was collected. The caller holds mu.
func (p *printed) flush() {
	text := visible.Clean(string(p.line), remote.MaxLine)
	if p.over {
		text += " […]"
	}
	p.line, p.over = p.line[:0], false
	if text == "" {
		return
	}
	p.last = text
	if p.cause == "" && (strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")) {
		p.cause = text // a trace of goroutines follows
	}
	if p.budget.Take(p.log) {
		p.log.Debug("output", "stream", p.stream, "line", text)
	}
}

// why returns the line that most likely says why the process ended; empty without one.
func (p *printed) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 {
		p.flush()
	}
	return cmp.Or(p.cause, p.last)
}
