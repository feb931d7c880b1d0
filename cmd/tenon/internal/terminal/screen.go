package terminal

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Screen is the output that the user sees: stdout if it is a terminal, else stderr. On a terminal, it keeps live lines about
// running work below everything else. It is safe for concurrent use.
type Screen struct {
	Color bool
	Rich  bool // the terminal understands escape sequences
	Live  bool // live lines at the bottom show running work
	// Streams reports whether stdout is the terminal, so that the answer is shown as it arrives.
	Streams bool
	// Answers reports whether stdin is a terminal, so that the user can be asked.
	Answers bool

	Out   io.Writer
	fd    int
	Width func() int

	mu      sync.Mutex
	buf     bytes.Buffer
	bottom  []string // the live lines
	drawn   int      // number of live lines on the terminal
	inLine  bool     // streamed text or a question ends without a line break
	section section  // section of the last write
	err     error    // first error of a write that loses the answer, or whose reader ended
}

// section is a kind of output. Blank lines separate sections.
type section int

const (
	sectionNone section = iota
	sectionText
	sectionLines
)

const (
	defaultWidth = 80
	// MaxLive is the maximum number of live lines. More would scroll a small terminal.
	MaxLive = 6
)

// NewScreen returns the screen of a process with these streams. env looks up the variables of its environment.
func NewScreen(stdin, stdout, stderr *os.File, env func(string) string) *Screen {
	out, err, in := isTerminal(stdout), isTerminal(stderr), isTerminal(stdin)
	c := &Screen{Out: stderr, fd: int(stderr.Fd()), Streams: out, Answers: in && (out || err)}
	if out {
		c.Out, c.fd = stdout, int(stdout.Fd())
	}
	c.Rich = (out || err) && !dumb(env) && enableEscapes(c.fd)
	c.Live = c.Rich
	c.Color = c.Rich && env("NO_COLOR") == ""
	c.Width = func() int {
		if w, _, err := term.GetSize(c.fd); err == nil && w > 0 {
			return w
		}
		return defaultWidth
	}
	return c
}

// dumb reports whether a terminal understands no escape sequences. Only Windows has terminals without TERM that do.
func dumb(env func(string) string) bool {
	term := env("TERM")
	return term == "dumb" || term == "" && runtime.GOOS != "windows"
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Line writes a line.
func (c *Screen) Line(text string) { c.write(sectionLines, text+"\n") }

// Stream writes text without ending the line.
func (c *Screen) Stream(text string) {
	if text != "" {
		c.write(sectionText, text)
	}
}

// Ask writes a question and leaves the cursor after it. The user's answer ends the line.
func (c *Screen) Ask(text string) { c.write(sectionLines, text) }

// write writes a piece of a section. Only text continues a line.
func (c *Screen) write(s section, text string) {
	c.update(func() {
		if s != sectionText || c.section != s {
			c.enter(s)
		}
		c.buf.WriteString(text)
		c.inLine = !strings.HasSuffix(text, "\n")
	})
}

// Answered reports that the user's input ended the line of the question.
func (c *Screen) Answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inLine = false
}

// BottomLines replaces the live lines, which only terminals show.
func (c *Screen) BottomLines(lines []string) { c.Flow(nil, lines) }

// Flow writes lines of text and replaces the live lines in one write, to avoid flicker. If text is empty but not nil, the live lines begin a text
// that will follow.
func (c *Screen) Flow(text, bottom []string) {
	if !c.Live {
		bottom = nil
	}
	bottom = bottom[max(0, len(bottom)-MaxLive):]
	c.mu.Lock()
	same := slices.Equal(c.bottom, bottom)
	c.mu.Unlock()
	if same && text == nil {
		return
	}
	c.update(func() {
		c.bottom = bottom
		if text != nil && c.section != sectionText {
			c.enter(sectionText)
		}
		for _, line := range text {
			c.buf.WriteString(line)
			c.buf.WriteByte('\n')
		}
	})
}

// Close removes the live lines and ends the line.
func (c *Screen) Close() {
	c.update(func() {
		c.bottom = nil
		c.endLine()
	})
}

// Failed returns the first write error, or nil.
func (c *Screen) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Divert redirects the output to w, and returns the previous writer.
func (c *Screen) Divert(w io.Writer) (was io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, c.Out = c.Out, w
	return was
}

// Besides returns a writer to f that keeps the screen intact if both are the same terminal.
func (c *Screen) Besides(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return &besidesWriter{c, f}
}

type besidesWriter struct {
	c *Screen
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

// update erases the live lines, calls f to write into the buffer, redraws them, and flushes the buffer in one write.
func (c *Screen) update(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf.WriteString(strings.Repeat("\x1b[1A\x1b[2K", c.drawn))
	c.drawn = 0
	f()
	if !c.inLine && len(c.bottom) > 0 {
		width := c.Width() - 1
		for _, l := range c.bottom {
			c.buf.WriteString(Fit(l, width))
			c.buf.WriteByte('\n')
		}
		c.drawn = len(c.bottom)
	}
	c.flush()
}

// enter starts a section on a new line, after a blank line if the kind changes.
func (c *Screen) enter(s section) {
	c.endLine()
	if c.section != s && c.section != sectionNone && c.Rich {
		c.buf.WriteByte('\n')
	}
	c.section = s
}

func (c *Screen) endLine() {
	if c.inLine {
		c.buf.WriteByte('\n')
		c.inLine = false
	}
}

func (c *Screen) flush() {
	if c.buf.Len() == 0 {
		return
	}
	_, err := c.Out.Write(c.buf.Bytes())
	if c.Streams || ReaderEnded(err) { // otherwise the screen is stderr, and the answer can be written to stdout
		c.err = cmp.Or(c.err, err)
	}
	c.buf.Reset()
}

// ForStdout returns a screen that paints only what is printed to a terminal.
func (c *Screen) ForStdout() *Screen {
	if !c.Streams {
		return &Screen{Width: c.Width}
	}
	return &Screen{Color: c.Color, Rich: c.Rich, Width: c.Width}
}
