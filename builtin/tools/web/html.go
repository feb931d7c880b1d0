package web

import (
	"bytes"
	"cmp"
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
	// maxDepth is the maximum nesting of lists, quotes and tables; deeper ones are rendered as text of the enclosing one.
	maxDepth = 20
	// maxCells is the maximum number of cells in a row of a data table.
	maxCells = 256
	// maxLink is the maximum length of a URL in bytes.
	maxLink = 2 << 10
	// checkEvery is the number of tokens between two checks of the context.
	checkEvery = 1 << 10
)

// renderer writes the tokens of a page as Markdown or text. It builds no tree: it handles every token once and keeps the open elements
// up to maxDepth, so time and memory are linear in the size of any page.
type renderer struct {
	base     *url.URL
	markdown bool

	out  strings.Builder
	line *strings.Builder // out, or the current cell

	open     []*element // lists, quotes, tables; the outermost first
	between  string     // prefix of blank lines: the shortest since the last text
	prefix   string     // of each line: indents and > of the open elements
	marks    []mark     // open emphasis and links
	skip     atom.Atom  // the element whose content is skipped; 0: none
	skips    int        // how often it is open
	pre      int        // open elements of preformatted text
	opened   bool       // preformatted text has begun, but none of it is written
	language string     // of the preformatted text
	gap      int        // pending line ends before the next text
	space    bool       // a pending space before the next text
	begun    bool       // the line has text
	marker   string     // pending list markers for the start of the line
	title    string     // pending heading sign after the marker
	leading  string     // the prefix of the line with the marker
}

// element is an open list, item, quote or table.
type element struct {
	name   atom.Atom
	prefix string // of the lines outside of it
	next   int    // number of the previous item of an ordered list

	// Of a table.
	layout bool // used for the layout of the page: its cells are blocks
	rows   int  // written
	inCell bool
	cell   strings.Builder
	cells  []string // of the current row
}

// mark is an open emphasis or link.
type mark struct {
	name    atom.Atom
	nested  int // number of nested ones of the same name
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
		default:
			r.token(tokens, kind)
		}
		if r.out.Len() > MaxBytes {
			return strings.ToValidUTF8(r.out.String()[:MaxBytes], "") + fmt.Sprintf("\n[cut off after %d bytes]", MaxBytes), nil
		}
	}
}

// token handles a tag, unless it belongs to skipped content; it ignores comments and doctypes.
func (r *renderer) token(tokens *html.Tokenizer, kind html.TokenType) {
	starts, closed := kind == html.StartTagToken, kind == html.SelfClosingTagToken
	if !starts && !closed && kind != html.EndTagToken {
		return
	}
	name, more := tokens.TagName()
	tag := atom.Lookup(name)
	tag = cmp.Or(synonyms[tag], tag)
	switch {
	case r.skip == 0:
		r.tag(tag, starts || closed, attributesOf(tokens, tag, more))
		if closed {
			r.skip = 0
		}
	case tag != r.skip || closed:
	case starts:
		r.skips++
	default:
		if r.skips--; r.skips == 0 {
			r.skip = 0
		}
	}
}

// attributes are the attributes used for the output.
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

// synonyms maps tags to tags of the same meaning.
var synonyms = map[atom.Atom]atom.Atom{atom.Strong: atom.B, atom.Em: atom.I, atom.Del: atom.S, atom.Strike: atom.S}

// signs are the Markdown signs of emphasis.
var signs = map[atom.Atom]string{atom.B: "**", atom.I: "*", atom.S: "~~", atom.Code: "`"}

// tag handles a start tag or an end tag.
func (r *renderer) tag(tag atom.Atom, starts bool, a attributes) {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Math, atom.Object, atom.Title:
		if starts {
			r.skip, r.skips = tag, 1
		}
	case atom.Br, atom.Hr, atom.Img:
		if starts {
			r.void(tag, a)
		}
	case atom.B, atom.I, atom.S, atom.Code, atom.A:
		r.mark(tag, starts, a)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.heading(tag, starts)
	case atom.Pre:
		if starts {
			r.startPre(a)
		} else {
			r.finishPre()
		}
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote:
		r.container(tag, starts)
	case atom.Table, atom.Tr, atom.Td, atom.Th:
		r.table(tag, starts)
	default:
		r.boundary(tag)
	}
}

// boundary begins or ends an element of another kind, which may be a block.
func (r *renderer) boundary(tag atom.Atom) {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Form,
		atom.Fieldset, atom.Dl, atom.Details, atom.Address, atom.Center, atom.Body, atom.Caption:
		r.block(2)
	case atom.Dt, atom.Dd, atom.Option, atom.Summary, atom.Figcaption, atom.Legend:
		r.block(1)
	}
}

// text writes text and collapses its white space unless it is preformatted.
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

// word writes a text without white space, after everything that is pending.
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

// begin starts the line if it has no text.
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

// block ends the line and requires n line ends before the next text; in plain text, one. Within a cell it is a space.
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

// void writes an element without content.
func (r *renderer) void(tag atom.Atom, a attributes) {
	switch {
	case tag == atom.Img:
		r.image(a)
	case tag == atom.Hr:
		r.block(2)
		if r.markdown && r.line == &r.out {
			r.word("---")
			r.block(2)
		}
	case r.pre > 0:
		r.preformatted("\n")
	default:
		r.block(1)
	}
}

func (r *renderer) heading(tag atom.Atom, starts bool) {
	if starts {
		r.leaveCell()
	}
	r.block(2)
	r.title = ""
	if starts && r.markdown {
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

// mark opens or closes an emphasis or a link. It is written with its first word, and closes those that were opened within it.
func (r *renderer) mark(tag atom.Atom, starts bool, a attributes) {
	if starts && r.opened && r.language == "" {
		r.language = language(a.class)
	}
	i := slices.IndexFunc(r.marks, func(m mark) bool { return m.name == tag })
	switch {
	case i >= 0 && starts:
		r.marks[i].nested++
	case i >= 0 && r.marks[i].nested > 0:
		r.marks[i].nested--
	case i >= 0:
		r.closeFrom(i)
	case starts:
		m := mark{name: tag}
		if r.pre == 0 && r.markdown {
			m.begin, m.end = signs[tag], signs[tag]
			if link := r.link(a.href); tag == atom.A && link != "" {
				m.begin, m.end = "[", "]("+link+")"
			}
		}
		r.marks = append(r.marks, m)
	}
}

// closeMarks closes the emphasis and links of a line. Those without a word stay open for the next line.
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

// link returns the absolute URL of ref, or "" if it cannot be followed, for example an embedded picture.
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

// startPre begins preformatted text. Its fence is written with its first text, once the language is known.
func (r *renderer) startPre(a attributes) {
	r.leaveCell()
	r.block(2)
	if r.pre++; r.pre == 1 {
		r.opened, r.language = true, language(a.class)
	}
}

// openFence writes the fence before preformatted text.
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

// language returns the language in the class of a listing.
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

// preformatted writes text verbatim. Line ends stay pending until the next text, so trailing ones are dropped.
func (r *renderer) preformatted(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for s != "" {
		line, rest, more := strings.Cut(s, "\n")
		first := r.opened // a line end at the very start is ignored
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
