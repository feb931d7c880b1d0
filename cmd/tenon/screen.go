package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// screen is where people look: stdout when it is a terminal, else stderr. On a terminal it keeps live
// lines at the bottom, for what is under way, below everything that is written. Safe for use from many
// goroutines.
type screen struct {
	color bool
	live  bool // the terminal can erase lines
	// streams says that stdout is the terminal: the answer appears as it comes.
	streams bool
	// answers says that a user is at stdin to be asked.
	answers bool

	w      io.Writer
	fd     int
	width  func() int
	height func() int // rows of the terminal

	mu      sync.Mutex
	buf     bytes.Buffer
	bottom  []string // the live lines
	drawn   int      // how many of them are on the terminal
	input   *inputBlock
	inLine  bool    // streamed text, or a question, has not ended its line
	section section // of what was written last
	err     error   // the first failed write
}

// section is a kind of output; blank lines stand between sections.
type section int

const (
	sectionNone section = iota
	sectionText
	sectionLines
)

// inputBlock is what a user edits, with the cursor in it. It stands below everything else. Its rows are narrower than the
// terminal.
type inputBlock struct {
	rows     []string // as they are written
	widths   []int    // of rows, in columns
	row, col int      // of the cursor
}

// above returns how many lines of the terminal are above the cursor's. Rows that were written to a wider terminal take
// several: terminals break them when they become narrower.
func (b *inputBlock) above(width int) int {
	n := b.col / width
	for _, w := range b.widths[:b.row] {
		n += max(1, (w+width-1)/width)
	}
	return n
}

const (
	defaultWidth  = 80
	defaultHeight = 24
	// maxLive bounds the live lines: more would scroll a small terminal.
	maxLive = 6
)

// newScreen returns the screen of a process with these streams. env looks up the variables of its environment.
func newScreen(stdin, stdout, stderr *os.File, env func(string) string) *screen {
	out, err, in := isTerminal(stdout), isTerminal(stderr), isTerminal(stdin)
	c := &screen{w: stderr, fd: int(stderr.Fd()), streams: out, answers: in && (out || err)}
	if out {
		c.w, c.fd = stdout, int(stdout.Fd())
	}
	dumb := env("TERM") == "dumb"
	c.live = (out || err) && !dumb && enableEscapes(c.fd)
	c.color = c.live && env("NO_COLOR") == ""
	c.width = func() int {
		if w, _, err := term.GetSize(c.fd); err == nil && w > 0 {
			return w
		}
		return defaultWidth
	}
	c.height = func() int {
		if _, h, err := term.GetSize(c.fd); err == nil && h > 0 {
			return h
		}
		return defaultHeight
	}
	return c
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// line writes a line of its own.
func (c *screen) line(text string) {
	c.update(func() {
		c.enter(sectionLines)
		c.buf.WriteString(text)
		c.buf.WriteByte('\n')
	})
}

// stream writes text as it comes, without ending the line.
func (c *screen) stream(text string) {
	if text == "" {
		return
	}
	c.update(func() {
		if c.section != sectionText {
			c.enter(sectionText)
		}
		c.buf.WriteString(text)
		c.inLine = !strings.HasSuffix(text, "\n")
	})
}

// ask writes a question and leaves the cursor behind it. The user's answer ends the line.
func (c *screen) ask(text string) {
	c.update(func() {
		c.enter(sectionLines)
		c.buf.WriteString(text)
		c.inLine = true
	})
}

// answered says that the user's input has ended the line of the question.
func (c *screen) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inLine = false
}

// bottomLines replaces the live lines. Elsewhere than on a terminal they are not shown.
func (c *screen) bottomLines(lines []string) {
	if !c.live {
		return
	}
	if over := len(lines) - maxLive; over > 0 {
		lines = lines[over:]
	}
	c.mu.Lock()
	same := slices.Equal(c.bottom, lines)
	c.mu.Unlock()
	if !same {
		c.update(func() { c.bottom = lines })
	}
}

// edit shows what the user edits in place of what was shown of it; nil takes it away.
func (c *screen) edit(b *inputBlock) {
	c.update(func() {
		if c.input == nil && b != nil {
			c.endLine()
		}
		c.input = b
	})
}

// entered leaves what the user edited where it is and goes on below it.
func (c *screen) entered(b *inputBlock) {
	c.update(func() {
		c.input, c.section = nil, sectionLines
		for _, row := range b.rows {
			c.buf.WriteString(row)
			c.buf.WriteByte('\n')
		}
	})
}

// control writes a sequence that shows nothing.
func (c *screen) control(sequence string) { c.update(func() { c.buf.WriteString(sequence) }) }

// close takes the live lines away and ends the line.
func (c *screen) close() {
	c.update(func() {
		c.bottom, c.input = nil, nil
		c.endLine()
	})
}

// failed returns the first error of a write, nil when all went well.
func (c *screen) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// besides returns a writer to f that leaves the screen in order when both are the same terminal.
func (c *screen) besides(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return &besidesWriter{c, f}
}

type besidesWriter struct {
	c *screen
	f *os.File
}

// Write writes whole lines.
func (b *besidesWriter) Write(p []byte) (n int, err error) {
	b.c.update(func() {
		b.c.enter(sectionLines)
		b.c.flush()
		n, err = b.f.Write(p)
	})
	return n, err
}

// update erases the live lines and the input, lets f write into the buffer, draws them again and writes it all at once.
func (c *screen) update(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input != nil {
		c.buf.WriteByte('\r')
		if n := c.input.above(c.width()); n > 0 {
			fmt.Fprintf(&c.buf, "\x1b[%dA", n)
		}
		c.buf.WriteString("\x1b[J")
	}
	if c.drawn > 0 {
		c.buf.WriteString(strings.Repeat("\x1b[1A\x1b[2K", c.drawn))
		c.drawn = 0
	}
	f()
	if !c.inLine && len(c.bottom) > 0 {
		width := c.width() - 1
		for _, l := range c.bottom {
			c.buf.WriteString(fit(l, width))
			c.buf.WriteByte('\n')
		}
		c.drawn = len(c.bottom)
	}
	if c.input != nil {
		c.input.draw(&c.buf)
	}
	c.flush()
}

// draw writes the rows and puts the cursor into them.
func (b *inputBlock) draw(to *bytes.Buffer) {
	to.WriteString(strings.Join(b.rows, "\n"))
	if up := len(b.rows) - 1 - b.row; up > 0 {
		fmt.Fprintf(to, "\x1b[%dA", up)
	}
	to.WriteByte('\r')
	if b.col > 0 {
		fmt.Fprintf(to, "\x1b[%dC", b.col)
	}
}

// enter begins a section: on a line of its own, after a blank line where text and lines meet.
func (c *screen) enter(s section) {
	c.endLine()
	if c.section != s && c.section != sectionNone && c.live {
		c.buf.WriteByte('\n')
	}
	c.section = s
}

func (c *screen) endLine() {
	if c.inLine {
		c.buf.WriteByte('\n')
		c.inLine = false
	}
}

func (c *screen) flush() {
	if c.buf.Len() == 0 {
		return
	}
	if _, err := c.w.Write(c.buf.Bytes()); err != nil && c.err == nil {
		c.err = err
	}
	c.buf.Reset()
}
