package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// maxText is the size in bytes from which an unfinished paragraph is rendered, so that rendering takes linear time: goldmark takes quadratic
	// time for some texts, such as [a](b[a](b. Ordinary paragraphs are much shorter.
	maxText = 4 << 10
	// maxTable is the limit for tables. The rest of a table is rendered below a copy of its head.
	maxTable = 16 << 10
	// maxItem is the limit for list items, which contain other blocks.
	maxItem = 64 << 10
	// maxDepth is the maximum number of markers of quotes and list items in a line. Lines with more are not rendered; no terminal has room for them.
	maxDepth = 50
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
	blank   bool     // the last line was blank

	// the open block
	kind   blockKind
	fence  *fence // not nil: fenced code
	source []byte
	spaced bool // it follows a blank line
	offset int  // indent of an item's text, in columns
	copied int  // size in bytes of the copied head, if the block continues a table

	// the last rendered block
	above  gap  // whether a blank line must follow
	marker byte // marker of the list at its end; 0: no list
	number int  // number of the next item of that list
}

// blockKind is the kind of the open block at the top level.
type blockKind uint8

const (
	noBlock blockKind = iota
	paragraph
	quote
	item
	indentedCode
)

// gap decides whether a blank line separates blocks.
type gap uint8

const (
	gapNever gap = iota // nothing is above
	gapAsked            // if the source has one
	gapAlways
)

// fence is open fenced code.
type fence struct {
	mark   string // opening characters; at least as many end it
	indent int    // indent of the first line, which is removed from the others
	coder  coder
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
	s.end()
	s.fence = nil
}

// Take returns the lines of the blocks that have ended since the last call. They never change.
func (s *Stream) Take() []string {
	lines := s.closed
	s.closed = nil
	return lines
}

// Open returns the lines of the open block as it is now, to show below the lines that Take returned.
func (s *Stream) Open() []string {
	partial := clean(string(s.partial))
	if s.fence != nil {
		if partial == "" {
			return nil
		}
		c := s.fence.coder
		return texts(c.line(unindent(partial, s.fence.indent), s.width))
	}
	trial := *s // rendering changes no bytes that the two share
	if trial.closed = nil; len(s.source) == 0 {
		trial.spaced = s.blank
	}
	trial.render(string(s.source) + partial)
	return trial.closed
}

// clean returns a line without control characters.
func clean(line string) string { return visible.Prose(strings.TrimSuffix(line, "\r")) }

// line takes a line.
func (s *Stream) line(text string) {
	text = clean(text)
	indent, rest := margin(text)
	if s.fence != nil {
		s.fenced(text, indent, rest)
		return
	}
	if rest == "" {
		s.blankLine()
		return
	}
	if deep(rest) {
		s.end()
		s.emit(wrap([]span{{text: text}}, s.width, s.style.Overflow))
		s.above, s.blank, s.marker = gapAsked, false, 0
		return
	}
	if !s.continues(indent, rest) {
		s.end()
		s.spaced = s.blank
		if s.open(indent, rest) {
			return
		}
	}
	s.blank = false
	s.source = append(append(s.source, text...), '\n')
	switch size := len(s.source); {
	case s.kind == paragraph && (heading(rest) || rule(rest)):
		s.end()
	case size <= maxText || s.kind == item && size <= maxItem:
	case s.kind == paragraph && s.tableHead() > 0:
		if size > maxTable {
			s.continueTable()
		}
	default:
		s.end()
	}
}

// tableHead returns the size of the first two lines of the open block if it begins with a table, and 0 if it does not.
func (s *Stream) tableHead() int {
	lines := bytes.SplitAfterN(s.source, []byte("\n"), 3)
	if len(lines) < 3 || alignments(lines[1]) == nil {
		return 0
	}
	return len(lines[0]) + len(lines[1])
}

// continueTable renders the open table and opens another one with a copy of its head.
func (s *Stream) continueTable() {
	head := bytes.Clone(s.source[:s.tableHead()])
	s.end()
	if len(head) < maxText {
		s.kind, s.source, s.copied = paragraph, head, len(head)
	}
}

func (s *Stream) blankLine() {
	switch s.kind {
	case item, indentedCode:
		s.source = append(s.source, '\n')
	default:
		s.end()
	}
	s.blank = true
}

// fenced takes a line of fenced code.
func (s *Stream) fenced(text string, indent int, rest string) {
	mark := strings.TrimRight(rest, " \t")
	if indent < tabStop && strings.HasPrefix(mark, s.fence.mark) && strings.Trim(mark, s.fence.mark[:1]) == "" {
		s.fence = nil
		return
	}
	s.emit(s.fence.coder.line(unindent(text, s.fence.indent), s.width))
}

// continues reports whether a line continues the open block.
func (s *Stream) continues(indent int, rest string) bool {
	begins := indent < tabStop && (fenceMark(rest) != "" || heading(rest) || rule(rest) || rest[0] == '>' || itemOffset(rest, s.kind != item) > 0)
	switch s.kind {
	case item:
		return indent >= s.offset || !s.blank && !begins
	case indentedCode:
		return indent >= tabStop
	case quote:
		return rest[0] == '>' && indent < tabStop || !begins
	case paragraph:
		return !begins || strings.Trim(strings.TrimRight(rest, " \t"), "-") == "" // the underline of a heading
	}
	return false
}

// open begins the block of a line, and reports whether it consumed the line.
func (s *Stream) open(indent int, rest string) bool {
	s.kind = paragraph
	if indent >= tabStop {
		s.kind = indentedCode
		return false
	}
	if mark := fenceMark(rest); mark != "" {
		s.kind = noBlock
		name, _, _ := strings.Cut(strings.TrimSpace(rest[len(mark):]), " ")
		s.fence = &fence{mark, indent, newCoder(&s.style, name)}
		s.separate(gapAlways)
		s.blank, s.marker = false, 0
		return true
	}
	switch offset := itemOffset(rest, false); {
	case rule(rest):
	case offset > 0:
		s.kind, s.offset = item, indent+offset
	case rest[0] == '>':
		s.kind = quote
	}
	return false
}

// end renders the open block.
func (s *Stream) end() {
	s.render(string(s.source))
	s.kind, s.source, s.copied = noBlock, s.source[:0], 0
}

// render appends the lines of a whole block. It skips the copied head of a table without rows.
func (s *Stream) render(source string) {
	if len(source) == s.copied {
		return
	}
	doc, data := parse(source)
	first, last := doc.FirstChild(), doc.LastChild()
	if first == nil {
		return
	}
	r := renderer{style: &s.style, source: data}
	list, ok := first.(*ast.List)
	if ok && list.Marker == s.marker {
		r.number = s.number
	}
	rows := r.blocks(doc, s.width)
	wants := gapAsked
	if stands(first) || first.Kind() == ast.KindHeading {
		wants = gapAlways
	}
	s.separate(wants)
	s.emit(rows)
	if s.above = gapAsked; stands(last) {
		s.above = gapAlways
	}
	s.marker = 0
	if list, ok := last.(*ast.List); ok {
		s.marker, s.number = list.Marker, list.Start+list.ChildCount()
		if last == first && r.number > 0 {
			s.number = r.number + list.ChildCount()
		}
	}
}

// separate appends a blank line if the source, the block above or the block below requires one.
func (s *Stream) separate(below gap) {
	if s.above != gapNever && (s.spaced || s.above == gapAlways || below == gapAlways) {
		s.closed = append(s.closed, "")
	}
	s.above = below
}

func (s *Stream) emit(rows []row) { s.closed = append(s.closed, texts(rows)...) }

func texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text
	}
	return out
}

// margin splits a line into its indent in columns and the rest, which is empty for a blank line.
func margin(line string) (indent int, rest string) {
	for i, c := range []byte(line) {
		switch c {
		case ' ':
			indent++
		case '\t':
			indent += tabStop - indent%tabStop
		default:
			return indent, line[i:]
		}
	}
	return indent, ""
}

// unindent removes up to n columns of white space.
func unindent(line string, n int) string {
	for n > 0 && strings.HasPrefix(line, " ") {
		line = line[1:]
		n--
	}
	return line
}

// deep reports whether a line begins with more than maxDepth markers of quotes and list items.
func deep(rest string) bool {
	if rule(rest) {
		return false
	}
	for range maxDepth {
		offset := 1
		if rest[0] != '>' {
			offset = itemOffset(rest, false)
		}
		if rest = strings.TrimLeft(rest[min(offset, len(rest)):], " \t"); offset == 0 || rest == "" {
			return false
		}
	}
	return true
}

// fenceMark returns the marks that open fenced code, or "".
func fenceMark(rest string) string {
	for _, c := range []string{"`", "~"} {
		info := strings.TrimLeft(rest, c)
		if n := len(rest) - len(info); n >= 3 && (c == "~" || !strings.Contains(info, c)) {
			return rest[:n]
		}
	}
	return ""
}

// heading reports whether a line is a heading, such as "## Title".
func heading(rest string) bool {
	text := strings.TrimLeft(rest, "#")
	n := len(rest) - len(text)
	return n >= 1 && n <= 6 && (text == "" || text[0] == ' ' || text[0] == '\t')
}

// rule reports whether a line is a thematic break, such as "* * *".
func rule(rest string) bool {
	if !strings.ContainsRune("*-_", rune(rest[0])) {
		return false
	}
	return strings.Trim(rest, rest[:1]+" \t") == "" && strings.Count(rest, rest[:1]) >= 3
}

// itemOffset returns the columns from the marker of a list item to its text, or 0 for other lines. Only an item with text, and
// numbered 1, may follow a paragraph without a blank line.
func itemOffset(rest string, interrupts bool) int {
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	marker := digits + 1
	switch {
	case digits > 9 || len(rest) < marker:
		return 0
	case digits > 0 && rest[digits] != '.' && rest[digits] != ')':
		return 0
	case digits == 0 && !strings.ContainsRune("-*+", rune(rest[0])):
		return 0
	}
	spaces, text := margin(rest[marker:])
	switch {
	case text == "" && interrupts:
		return 0
	case text != "" && spaces == 0:
		return 0
	case interrupts && digits > 0 && rest[:digits] != "1":
		return 0
	case text == "" || spaces > tabStop:
		return marker + 1
	}
	return marker + spaces
}
