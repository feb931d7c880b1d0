package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxDepth bounds the lists, quotes and tables that stand in each other; deeper ones are text of the one around.
	maxDepth = 20
	// maxCells bounds the cells of a row, in a table of data.
	maxCells = 256
	// maxLink bounds an address, in bytes.
	maxLink = 2 << 10
	// checkEvery is after how many tokens the context is looked at.
	checkEvery = 1 << 10
)

// renderer writes the tokens of a page as Markdown or text. It builds no tree: it takes every token once and remembers what is open,
// up to maxDepth, so time and memory are linear in the page whatever it holds.
type renderer struct {
	base     *url.URL
	markdown bool

	out  strings.Builder
	line *strings.Builder // out, or the cell under way

	open     []*element // lists, quotes, tables, from the outermost
	deeper   int        // elements of these kinds that are open beyond maxDepth
	between  string     // prefix of blank lines: the shortest since the latest text
	prefix   string     // of each line: indents and > of what is open
	marks    []mark     // open emphasis and links
	skip     atom.Atom  // the element whose content is left out; 0: none
	skips    int        // how often it is open
	pre      int        // open elements of preformatted text
	opened   bool       // preformatted text has begun, and nothing of it is written
	language string     // of the preformatted text
	gap      int        // line ends due before the next text
	space    bool       // a space is due before the next text
	begun    bool       // the line has text
	marker   string     // due at the start of the line, of list items
	title    string     // due behind it, of a heading
	leading  string     // the prefix of the line with the marker
}

// element is an open list, item, quote or table.
type element struct {
	name   atom.Atom
	prefix string // of the lines outside of it
	next   int    // number of the next item of an ordered list

	// Of a table.
	layout bool // it arranges the page: its cells are blocks
	rows   int  // written
	inCell bool
	cell   strings.Builder
	cells  []string // of the row under way
}

// mark is an open emphasis or link.
type mark struct {
	name    atom.Atom
	nested  int // further ones of the same name
	written bool
	begin   string
	end     string
}

// render converts a page. It stops when ctx ends.
func render(ctx context.Context, page []byte, base *url.URL, markdown bool) (string, error) {
	r := &renderer{base: base, markdown: markdown}
	r.line = &r.out
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			if err := tokens.Err(); err != io.EOF {
				return "", err
			}
			r.end()
			return strings.ToValidUTF8(r.out.String(), "\uFFFD"), nil
		case html.TextToken:
			if r.skip == 0 {
				r.text(string(tokens.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attributes := tokens.TagName()
			tag := atom.Lookup(name)
			if r.skip == 0 {
				r.start(tag, kind == html.SelfClosingTagToken, attributesOf(tokens, tag, attributes))
			} else if tag == r.skip && kind == html.StartTagToken {
				r.skips++
			}
		case html.EndTagToken:
			name, _ := tokens.TagName()
			r.finish(atom.Lookup(name))
		}
		if r.out.Len() > MaxBytes {
			return strings.ToValidUTF8(r.out.String()[:MaxBytes], "") + fmt.Sprintf("\n[cut off after %d bytes]", MaxBytes), nil
		}
	}
}

// attributes are those that count.
type attributes struct{ href, src, alt, class string }

func attributesOf(tokens *html.Tokenizer, tag atom.Atom, more bool) (a attributes) {
	switch tag {
	case atom.A, atom.Img, atom.Pre, atom.Code:
	default:
		return a
	}
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if len(value) > maxLink {
			continue
		}
		switch string(key) {
		case "href":
			a.href = string(value)
		case "src":
			a.src = string(value)
		case "alt":
			a.alt = string(value)
		case "class":
			a.class = string(value)
		}
	}
	return a
}

// start takes a start tag.
func (r *renderer) start(tag atom.Atom, closed bool, a attributes) {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Math, atom.Object, atom.Title:
		if !closed {
			r.skip, r.skips = tag, 1
		}
	case atom.Br:
		r.lineBreak()
	case atom.Hr:
		r.rule()
	case atom.Img:
		r.image(a)
	case atom.B, atom.Strong, atom.I, atom.Em, atom.Del, atom.S, atom.Strike, atom.Code, atom.A:
		r.mark(tag, a)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.heading(tag)
	case atom.Pre:
		r.startPre(a)
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote:
		r.startContainer(tag)
	case atom.Table, atom.Tr, atom.Td, atom.Th:
		r.startTable(tag)
	default:
		r.boundary(tag)
	}
}

// finish takes an end tag.
func (r *renderer) finish(tag atom.Atom) {
	if r.skip != 0 {
		if tag == r.skip {
			if r.skips--; r.skips == 0 {
				r.skip = 0
			}
		}
		return
	}
	switch tag {
	case atom.B, atom.Strong, atom.I, atom.Em, atom.Del, atom.S, atom.Strike, atom.Code, atom.A:
		r.unmark(tag)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.block(2)
		r.title = ""
	case atom.Pre:
		r.finishPre()
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote:
		r.finishContainer(tag)
	case atom.Table, atom.Tr, atom.Td, atom.Th:
		r.finishTable(tag)
	default:
		r.boundary(tag)
	}
}

// boundary begins or ends an element of any other kind: a block unless it is known to stand within a line.
func (r *renderer) boundary(tag atom.Atom) {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Form,
		atom.Fieldset, atom.Dl, atom.Details, atom.Address, atom.Center, atom.Body, atom.Caption:
		r.block(2)
	case atom.Dt, atom.Dd, atom.Option, atom.Summary, atom.Figcaption, atom.Legend:
		r.block(1)
	}
}

// text writes text, its white space joined unless it is preformatted.
func (r *renderer) text(s string) {
	if r.pre > 0 {
		r.preformatted(s)
		return
	}
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			r.word(s[:i])
		}
		if s = s[i:]; s != "" {
			r.space = true
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
	}
}

// word writes what holds no white space, after what is due before it.
func (r *renderer) word(s string) {
	r.begin()
	if r.space {
		r.line.WriteByte(' ')
		r.space = false
	}
	for i := range r.marks {
		if m := &r.marks[i]; !m.written {
			r.line.WriteString(m.begin)
			m.written = true
		}
	}
	r.line.WriteString(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

// begin starts the line, if it has no text.
func (r *renderer) begin() {
	if r.begun {
		return
	}
	r.begun, r.space = true, false
	if r.line != &r.out {
		return
	}
	if r.out.Len() > 0 {
		for i := range r.gap {
			r.out.WriteByte('\n')
			if i+1 < r.gap {
				r.out.WriteString(strings.TrimRight(r.between, " "))
			}
		}
	}
	r.between = r.prefix
	r.gap = 0
	if r.marker == "" {
		r.out.WriteString(r.prefix)
	} else {
		r.out.WriteString(r.leading)
	}
	r.out.WriteString(r.marker)
	r.out.WriteString(r.title)
	r.marker, r.title = "", ""
}

// block ends the line, so that at least n line ends come before the next text; one in a page of text. Within a cell it is a space.
func (r *renderer) block(n int) {
	r.closeMarks()
	r.space = true
	if r.line != &r.out || r.marker != "" {
		return
	}
	if !r.markdown {
		n = 1
	}
	r.begun = false
	r.gap = max(r.gap, n)
}

func (r *renderer) lineBreak() {
	if r.pre > 0 {
		r.preformatted("\n")
		return
	}
	r.block(1)
}

func (r *renderer) rule() {
	r.block(2)
	if r.markdown && r.line == &r.out {
		r.word("---")
		r.block(2)
	}
}

func (r *renderer) heading(tag atom.Atom) {
	r.leaveCell()
	r.block(2)
	if r.markdown {
		r.title = strings.Repeat("#", int(tag.String()[1]-'0')) + " "
	}
}

func (r *renderer) end() {
	r.popTo(0)
	if r.pre > 0 {
		r.pre = 1
		r.finishPre()
	}
	r.closeMarks()
}

// mark opens an emphasis or a link. It is written with the first word in it.
func (r *renderer) mark(tag atom.Atom, a attributes) {
	m := mark{name: tag}
	if r.opened && r.language == "" {
		r.language = language(a.class)
	}
	switch tag {
	case atom.B, atom.Strong:
		m.name, m.begin = atom.B, "**"
	case atom.I, atom.Em:
		m.name, m.begin = atom.I, "*"
	case atom.Del, atom.S, atom.Strike:
		m.name, m.begin = atom.S, "~~"
	case atom.Code:
		m.begin = "`"
	}
	m.end = m.begin
	if tag == atom.A {
		m.begin, m.end = "", ""
		if link := r.link(a.href); link != "" {
			m.begin, m.end = "[", "]("+link+")"
		}
	}
	if r.pre > 0 || !r.markdown {
		m.begin, m.end = "", ""
	}
	for i := range r.marks {
		if r.marks[i].name == m.name {
			r.marks[i].nested++
			return
		}
	}
	r.marks = append(r.marks, m)
}

// unmark closes an emphasis or a link, and those opened within it.
func (r *renderer) unmark(tag atom.Atom) {
	switch tag {
	case atom.Strong:
		tag = atom.B
	case atom.Em:
		tag = atom.I
	case atom.Del, atom.Strike:
		tag = atom.S
	}
	for i := range r.marks {
		if r.marks[i].name != tag {
			continue
		}
		if r.marks[i].nested > 0 {
			r.marks[i].nested--
			return
		}
		r.closeFrom(i)
		return
	}
}

// closeMarks ends the emphasis and links of a line. Those without a word so far go on in the next one.
func (r *renderer) closeMarks() {
	waiting := slices.DeleteFunc(slices.Clone(r.marks), func(m mark) bool { return m.written })
	r.closeFrom(0)
	r.marks = append(r.marks, waiting...)
}

func (r *renderer) closeFrom(first int) {
	for i := len(r.marks) - 1; i >= first; i-- {
		if r.marks[i].written {
			r.line.WriteString(r.marks[i].end)
		}
	}
	r.marks = r.marks[:first]
}

// link returns an address in full; empty for one that leads nowhere, such as an embedded picture.
func (r *renderer) link(ref string) string {
	ref = strings.TrimSpace(ref)
	u, err := r.base.Parse(ref)
	if err != nil || ref == "" || len(ref) > maxLink {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "ftp":
		return strings.ReplaceAll(strings.ReplaceAll(u.String(), "(", "%28"), ")", "%29")
	}
	return ""
}

func (r *renderer) image(a attributes) {
	if !r.markdown || r.pre > 0 {
		return
	}
	if link := r.link(a.src); link != "" {
		r.word("![" + strings.Join(strings.Fields(a.alt), " ") + "](" + link + ")")
		return
	}
	r.text(a.alt)
}

// startPre begins preformatted text. Its fence is written with its first text, when the language is known.
func (r *renderer) startPre(a attributes) {
	r.leaveCell()
	r.block(2)
	if r.pre++; r.pre == 1 {
		r.opened, r.language = true, language(a.class)
	}
}

// openFence writes what is due at the start of preformatted text.
func (r *renderer) openFence() {
	if !r.opened {
		return
	}
	r.opened = false
	if r.markdown {
		r.closeFrom(0)
		r.word("```" + r.language)
		r.begun, r.gap = false, 1
	}
}

// language returns the language that the class of a listing names.
func language(class string) string {
	for _, name := range strings.Fields(class) {
		if l, ok := strings.CutPrefix(name, "language-"); ok && len(l) < 20 {
			return l
		}
	}
	return ""
}

func (r *renderer) finishPre() {
	if r.pre == 0 {
		return
	}
	if r.pre--; r.pre > 0 {
		return
	}
	if !r.opened {
		r.begun, r.gap = false, 1
		if r.markdown {
			r.word("```")
		}
	}
	r.opened = false
	r.block(2)
}

// preformatted writes text as it is. Line ends are due before the next text, so that those at the end are dropped.
func (r *renderer) preformatted(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for s != "" {
		line, rest, more := strings.Cut(s, "\n")
		first := r.opened // a line end at the very start does not count
		r.openFence()
		if line != "" {
			first = false
			r.begin()
			r.line.WriteString(strings.ReplaceAll(line, "\x00", "\uFFFD"))
		}
		if more && !first {
			r.gap++
			r.begun = false
		}
		s = rest
	}
}
