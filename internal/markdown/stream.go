package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// maxText is the size in bytes at which a line is broken. A paragraph of more than twice this size is not rendered: goldmark takes quadratic
	// time for some texts, such as [a](b[a](b. Ordinary paragraphs are much shorter.
	maxText = 4 << 10
	// maxBlock is the size in bytes from which an unfinished block is rendered, so that rendering takes linear time.
	maxBlock = 32 << 10
)

// Render returns the lines of a text, each at most width columns wide; width is at least 10. Code lines and words may be longer if the style
// allows Overflow. Each line ends all looks that it begins.
func Render(source string, width int, style Style) []string {
	s := NewStream(width, style)
	s.Write(source)
	s.Close()
	return s.Take()
}

// Stream renders a text that arrives in pieces. The result does not depend on the pieces. Use it from one goroutine.
type Stream struct {
	width int
	style Style

	closed  []string // lines that Take has not returned yet
	partial []byte   // last line, still incomplete
	source  []byte   // complete lines that are not in closed, from the beginning of a block or a list item on
	added   bool     // lines have been added to source since the last split
	spaced  bool     // a blank line precedes source
	fenced  bool     // source begins with the first line of fenced code that is open; its other lines so far are in closed
	begun   bool     // some of these lines are in closed
	coder   coder    // state of that code

	// the rendered blocks
	shown  bool // there are any
	stands bool // a blank line follows the last one
	marker byte // marker of the list at its end; 0: no list
	number int  // number of the next item of that list
}

// NewStream returns a stream of lines with this width in columns, at least 10.
func NewStream(width int, style Style) *Stream {
	return &Stream{width: max(width, minWidth), style: style}
}

// Resize changes the width for what is rendered from now on.
func (s *Stream) Resize(width int) { s.width = max(width, minWidth) }

// Write appends a piece of the text.
func (s *Stream) Write(text string) {
	for {
		line, rest, ended := strings.Cut(text, "\n")
		s.partial = append(s.partial, line...)
		if !ended {
			break
		}
		s.line(string(s.partial))
		s.partial, text = s.partial[:0], rest
	}
	for len(s.partial) > maxText {
		cut := bytes.LastIndexByte(s.partial[:maxText], ' ') + 1
		if cut == 0 {
			cut = maxText
			for cut > 1 && !utf8.RuneStart(s.partial[cut]) {
				cut--
			}
		}
		s.line(string(s.partial[:cut]))
		s.partial = s.partial[cut:]
	}
}

// Close ends the text.
func (s *Stream) Close() {
	if len(s.partial) > 0 {
		s.line(string(s.partial))
		s.partial = nil
	}
	s.end(len(s.source))
}

// Take returns the lines of the blocks that have ended since the last call. They never change.
func (s *Stream) Take() []string {
	s.split()
	lines := s.closed
	s.closed = nil
	return lines
}

// Open returns the lines of the open block as it is now, to show below the lines that Take returned.
func (s *Stream) Open() []string {
	trial := *s // rendering changes no bytes that the two share
	trial.closed = nil
	trial.render(string(s.source) + clean(string(s.partial)))
	return trial.closed
}

// clean returns a line without control characters.
func clean(line string) string { return visible.Prose(strings.TrimSuffix(line, "\r")) }

// line takes a line.
func (s *Stream) line(text string) {
	if text = clean(text); strings.Trim(text, " \t") == "" {
		text = ""
	}
	s.source, s.added = append(append(s.source, text...), '\n'), true
	if len(s.source) > maxBlock {
		if s.split(); len(s.source) > maxBlock {
			s.end(len(s.source))
		}
	}
}

// split renders the blocks that have ended: all but the last one, and all but the last item of a list at the end. If the last block is fenced
// code, it renders the lines of it that have arrived.
func (s *Stream) split() {
	if !s.added {
		return
	}
	s.added = false
	doc, data := parse(string(s.source))
	last := doc.LastChild()
	if last == nil {
		s.spaced, s.source = true, s.source[:0] // blank lines
		return
	}
	code, fenced := last.(*ast.FencedCodeBlock)
	switch {
	case fenced && open(code, data):
		s.end(start(code, data))
		head := bytes.IndexByte(s.source, '\n') + 1
		s.render(string(s.source))
		s.source, s.fenced = s.source[:head], true
	case fenced || ended(last, bytes.HasSuffix(data, []byte("\n\n"))):
		s.end(len(data))
	case last.Kind() == ast.KindList:
		s.end(start(last.LastChild(), data))
	default:
		s.end(start(last, data))
	}
}

// ended reports whether the last block cannot grow; blank means that a blank line follows it.
func ended(n ast.Node, blank bool) bool {
	switch n.Kind() {
	case ast.KindHeading, ast.KindThematicBreak:
		return true
	case ast.KindList, ast.KindCodeBlock:
		return false
	}
	return blank
}

// open reports whether fenced code at the end lacks its end.
func open(code *ast.FencedCodeBlock, data []byte) bool {
	end := start(code, data)
	end += bytes.IndexByte(data[end:], '\n') + 1
	if n := code.Lines().Len(); n > 0 {
		end = code.Lines().At(n - 1).Stop
	}
	return end == len(data)
}

// start returns the offset of the line in which a block begins.
func start(n ast.Node, data []byte) int { return bytes.LastIndexByte(data[:n.Pos()], '\n') + 1 }

// blankBefore reports whether the line before an offset is blank, or empty in a quote.
func blankBefore(data []byte, at int) bool {
	if at == 0 {
		return false
	}
	line := data[bytes.LastIndexByte(data[:at-1], '\n')+1 : at]
	return len(bytes.Trim(line, "> \t\n")) == 0
}

// end renders the first n bytes of the source.
func (s *Stream) end(n int) {
	if n > 0 {
		spaced := blankBefore(s.source, n)
		s.render(string(s.source[:n]))
		s.source, s.spaced, s.fenced, s.begun = append(s.source[:0], s.source[n:]...), spaced, false, false
	}
}

// render appends the lines of whole blocks.
func (s *Stream) render(source string) {
	doc, data := parse(source)
	first, last := doc.FirstChild(), doc.LastChild()
	if first == nil {
		return
	}
	r := renderer{style: &s.style, source: data, coder: s.coder}
	if s.fenced {
		r.continued = first
	}
	list, ok := first.(*ast.List)
	if ok && list.Marker == s.marker {
		r.number = s.number
	}
	rows := r.blocks(doc, s.width)
	s.coder, s.marker = r.coder, 0
	if len(rows) == 0 {
		s.stands = s.stands || stands(last) // code without lines
		return
	}
	apart := s.spaced || source[0] == '\n' || r.apart || s.stands || stands(first) || first.Kind() == ast.KindHeading
	if s.shown && apart && (!s.begun || r.apart) {
		s.closed = append(s.closed, "")
	}
	s.closed = append(s.closed, rows...)
	s.begun, s.shown, s.stands = true, true, stands(last)
	if list, ok := last.(*ast.List); ok {
		s.marker, s.number = list.Marker, list.Start+list.ChildCount()
		if last == first && r.number > 0 {
			s.number = r.number + list.ChildCount()
		}
	}
}
