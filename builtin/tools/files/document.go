package files

import (
	"bytes"
	"iter"
	"sort"
	"strings"
)

const bom = "\ufeff"

// document is the text of a file in the form that tools use: without the byte order mark and with \n
// at the end of every line. It keeps the original form, so that a change affects nothing else.
type document struct {
	text   string
	raw    string // as on disk, without the byte order mark
	bom    bool
	open   bool   // on disk, the last line has no ending; see complete
	crlf   []int  // offsets in text of each \n that is \r\n in raw, ascending
	ending string // of most lines, and of new ones
}

func newDocument(content []byte) *document {
	d := &document{ending: "\n"}
	d.raw, d.bom = strings.CutPrefix(string(content), bom)
	d.text = toLF(d.raw)
	for _, at := range occurrences(d.raw, "\r\n") {
		d.crlf = append(d.crlf, at.start-len(d.crlf))
	}
	if 2*len(d.crlf) > strings.Count(d.text, "\n") {
		d.ending = "\r\n"
	}
	return d
}

// complete gives the last line an ending if it has none, until apply.
func (d *document) complete() {
	if d.open = d.text != "" && !strings.HasSuffix(d.text, "\n"); d.open {
		if d.ending == "\r\n" {
			d.crlf = append(d.crlf, len(d.text))
		}
		d.text += "\n"
		d.raw += d.ending
	}
}

// span is a range of a document's text.
type span struct{ start, end int }

// replacement is the new text of a span.
type replacement struct {
	span
	text string
}

// apply returns the content of the file after the replacements, which must be in order and must not
// overlap. New lines have the ending of most lines.
func (d *document) apply(replacements []replacement) []byte {
	var b bytes.Buffer
	if d.bom {
		b.WriteString(bom)
	}
	from := 0
	for _, r := range replacements {
		b.WriteString(d.raw[from:d.offset(r.start)])
		b.WriteString(strings.ReplaceAll(toLF(r.text), "\n", d.ending))
		from = d.offset(r.end)
	}
	b.WriteString(d.raw[from:])
	if d.open {
		return bytes.TrimSuffix(b.Bytes(), []byte(d.ending))
	}
	return b.Bytes()
}

// offset converts an offset of text to one of raw; at \r\n it returns the offset of \r.
func (d *document) offset(i int) int { return i + sort.SearchInts(d.crlf, i) }

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// textLines is a text split into lines.
type textLines struct {
	lines  []string // without line breaks
	starts []int    // offset of each line, and len(text)
}

func splitLines(text string) textLines {
	t := textLines{starts: []int{0}}
	for line := range strings.Lines(text) {
		t.lines = append(t.lines, strings.TrimSuffix(line, "\n"))
		t.starts = append(t.starts, t.starts[len(t.starts)-1]+len(line))
	}
	return t
}

// inForm applies form to each line; a nil form changes nothing. Lines that are equal afterwards count as equal.
func inForm(lines []string, form func(string) string) []string {
	if form == nil {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = form(line)
	}
	return out
}

// blocks yields the numbers, at or after from, of the lines at which the lines of want begin, without overlaps. want has at least one line. It ends
// after maxCompared equal bytes: the file repeats its lines.
func blocks(lines, want []string, from int) iter.Seq[int] {
	return func(yield func(int) bool) {
		left := maxCompared
		for at := from; at+len(want) <= len(lines) && left > 0; at++ {
			n := 0
			for ; n < len(want) && lines[at+n] == want[n]; n++ {
				left -= len(want[n]) + perLine
			}
			if n == len(want) {
				if !yield(at) {
					return
				}
				at += n - 1
			}
		}
	}
}

// lineOf returns the number, from 1, of the line in text that contains the offset.
func lineOf(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }
