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

// printed logs the output of a process, line by line. It drops lines above the rate limit. Write never fails. Safe for concurrent use.
type printed struct {
	log    *slog.Logger
	budget *remote.LineLimit
	stream string // stdout or stderr

	mu    sync.Mutex
	lines remote.Lines
	last  []byte // the last nonempty line
	cause string // the last line that looks like an error
}

func newPrinted(log *slog.Logger, budget *remote.LineLimit, stream string) *printed {
	p := &printed{log: log, budget: budget, stream: stream}
	p.lines.Take = p.take
	return p
}

// Write takes a piece of output.
func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Write(data)
	return len(data), nil
}

// shown returns a line as users see it.
func shown(line []byte) string { return visible.Clean(string(line), remote.MaxLine) }

// complaint matches a line that says what went wrong, as the runtimes of languages print it in front of a trace, where the last line says nothing.
var complaint = lazyregexp.New(`(?i)^(\S.*)?(error|exception|panic|panicked|sig[a-z]+)(:| at) `)

// take logs a line. Dropped lines must be cheap, because a process may print gigabytes. The caller holds mu.
func (p *printed) take(line []byte) {
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 {
		return
	}
	p.last = append(p.last[:0], line...)
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
	p.lines.Flush()
	return cmp.Or(p.cause, shown(p.last))
}
