package process

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
)

// printed logs the output of a process, line by line. It drops lines above the rate limit. Write never fails. Safe for concurrent use.
type printed struct {
	log    *slog.Logger
	budget *remote.LineLimit
	stream string // stdout or stderr

	mu    sync.Mutex
	lines visible.Lines
	last  []byte // the last nonempty line
	cause string // the line that most likely contains the cause of the exit
	next  bool   // the next nonempty line is an error of Node or a panic of Rust
	fatal string // that line
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
func shown(line []byte) string { return visible.Clean(string(line), visible.MaxLine) }

// take logs a line. Dropped lines must be cheap, because a process may print gigabytes. The caller holds mu.
func (p *printed) take(line []byte) {
	line = bytes.Trim(line, " \t\r")
	if len(line) == 0 {
		return
	}
	if p.cause == "" && remote.NamesCrash(line) {
		p.cause = shown(line) // a trace of goroutines follows
	}
	if p.next {
		p.fatal = shown(line)
	}
	p.next = announces(line)
	p.last = append(p.last[:0], line...)
	if p.budget.Take(p.log.Debug) {
		p.log.Debug("output", "stream", p.stream, "line", shown(line))
	}
}

// announces reports whether an error follows this line: Node first marks a place in the source with carets, and Rust names the place.
func announces(line []byte) bool {
	return len(bytes.Trim(line, "^")) == 0 || bytes.HasPrefix(line, []byte("thread '")) && bytes.HasSuffix(line, []byte(":"))
}

// endings are prefixes of the lines that Node and Rust print last, after any error.
var endings = []string{"Node.js v", "note: run with `RUST_BACKTRACE"}

// why returns the line that most likely contains the cause of the exit; empty if the process printed nothing.
func (p *printed) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Flush()
	last := shown(p.last)
	if slices.ContainsFunc(endings, func(ending string) bool { return strings.HasPrefix(last, ending) }) {
		last = cmp.Or(p.fatal, last)
	}
	return cmp.Or(p.cause, last)
}
