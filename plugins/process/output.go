package process

import (
	"bytes"
	"cmp"
	"log/slog"
	"sync"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
)

// printed logs the output of a process, line by line. It truncates lines to remote.MaxLine and drops lines above the rate limit. Write never
// fails. Safe for concurrent use.
type printed struct {
	log    *slog.Logger
	budget *remote.LineLimit
	stream string // stdout or stderr

	mu    sync.Mutex
	line  []byte
	over  bool   // the line was truncated
	last  []byte // the last nonempty line
	cause string // the last line that looks like an error
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

// cut marks the end of a truncated line.
const cut = " […]"

// shown returns a line as users see it.
func shown(line []byte) string { return visible.Clean(string(line), remote.MaxLine+len(cut)) }

// complaint matches a line that says what went wrong, as the runtimes of languages print it in front of a trace, where the last line says nothing.
var complaint = lazyregexp.New(`(?i)^(\S.*)?(error|exception|panic|panicked|sig[a-z]+)(:| at) `)

// flush logs the collected line. Dropped lines must be cheap, because a process may print gigabytes. The caller holds mu.
func (p *printed) flush() {
	if p.over {
		p.line, p.over = append(p.line, cut...), false
	}
	line := bytes.TrimRight(p.line, " \t\r")
	if len(line) == 0 {
		p.line = p.line[:0]
		return
	}
	p.line, p.last = p.last[:0], p.line
	if p.budget.Take(p.log) {
		if complaint().Match(line) {
			p.cause = shown(line)
		}
		p.log.Debug("output", "stream", p.stream, "line", shown(line))
	}
}

// why returns the line that most likely says why the process ended; empty if the process printed nothing.
func (p *printed) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 {
		p.flush()
	}
	return cmp.Or(p.cause, shown(p.last))
}
