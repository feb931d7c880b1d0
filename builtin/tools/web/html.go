package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// maxDepth is the maximum nesting of lists and quotes. A deeper one is rendered as text of the one around it.
	maxDepth = 20
	// maxLink is the maximum length of a URL in bytes.
	maxLink = 2 << 10
	// checkEvery is the number of tokens between two checks of the context.
	checkEvery = 1 << 10
)

// renderer writes the tokens of a page as Markdown or text. It builds no tree: it writes every token immediately and keeps only the open elements
// up to maxDepth, so time and memory are linear in the size of any page. Broken or unusual nesting costs formatting, never text.
type renderer struct {
	base     *url.URL
	markdown bool

	out    strings.Builder
	gap    int    // pending line ends before the next text
	space  bool   // a pending space before the next text
	marker string // pending marker of an item
	title  string // pending heading mark after the marker
	signs  string // pending signs of emphasis and links before the next text

	open   []level            // lists, items and quotes; the outermost first
	marks  map[atom.Atom]bool // open emphasis
	target string             // URL of the open link
	skip   atom.Atom          // the element whose content is skipped; 0: none

	pre   bool // in preformatted text
	fresh bool // none of it is written yet

	tables  int  // open tables
	cells   int  // cells of the current row; 0: not in a row
	rows    int  // rows of the table that have ended
	newCell bool // the current cell has no text
}

// level is an open list, item or quote.
type level struct {
	tag    atom.Atom
	prefix string // written before each line
	number int    // of the latest item of an ordered list
}

// render converts a page. It stops when ctx ends.
func render(ctx context.Context, page []byte, base *url.URL, markdown bool) (string, error) {
	r := &renderer{base: base, markdown: markdown, marks: map[atom.Atom]bool{}}
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
			r.preformat(false)
			r.link(false, "")
			r.row()
			return r.result(), nil
		case html.TextToken:
			if r.skip == 0 {
				r.text(string(tokens.Text()))
			}
		default:
			r.token(tokens, kind)
		}
		if r.out.Len() > MaxBytes {
			return r.result(), nil
		}
	}
}

// result returns at most MaxBytes of the output as valid UTF-8 without NUL.
func (r *renderer) result() string {
	text := strings.ReplaceAll(strings.ToValidUTF8(r.out.String(), "\uFFFD"), "\x00", "\uFFFD")
	return visible.Cut(text, MaxBytes, fmt.Sprintf("\n[cut off after %d bytes]", MaxBytes))
}

// token handles a tag, unless it belongs to skipped content. Comments and doctypes have no name and count as unknown tags.
func (r *renderer) token(tokens *html.Tokenizer, kind html.TokenType) {
	name, more := tokens.TagName()
	tag := atom.Lookup(name)
	if r.skip != 0 {
		if tag == r.skip && kind == html.EndTagToken {
			r.skip = 0
		}
		return
	}
	r.tag(cmp.Or(synonyms[tag], tag), kind != html.EndTagToken, attributesOf(tokens, tag, more))
	if kind == html.SelfClosingTagToken && (tag == atom.Svg || tag == atom.Math) {
		r.skip = 0
	}
}

// attributesOf returns the attributes of a link or a picture that are used for the output, by their names.
func attributesOf(tokens *html.Tokenizer, tag atom.Atom, more bool) map[string]string {
	if tag != atom.A && tag != atom.Img {
		return nil
	}
	out := map[string]string{}
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if name := string(key); len(value) <= maxLink && slices.Contains([]string{"href", "src", "alt"}, name) {
			out[name] = string(value)
		}
	}
	return out
}

// synonyms maps tags to tags of the same meaning.
var synonyms = map[atom.Atom]atom.Atom{atom.Strong: atom.B, atom.Em: atom.I, atom.Del: atom.S, atom.Strike: atom.S}

// signs are the Markdown signs of emphasis.
var signs = map[atom.Atom]string{atom.B: "**", atom.I: "*", atom.S: "~~", atom.Code: "`"}

// tag handles a start tag or an end tag.
func (r *renderer) tag(tag atom.Atom, starts bool, a map[string]string) {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Math, atom.Object, atom.Title:
		if starts {
			r.skip = tag
		}
	case atom.Br, atom.Hr, atom.Img:
		r.void(tag, a)
	case atom.B, atom.I, atom.S, atom.Code:
		r.mark(tag, starts)
	case atom.A:
		r.link(starts, a["href"])
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.block(2)
		if r.title = ""; starts && r.markdown && r.cells == 0 {
			r.title = strings.Repeat("#", int(tag.String()[1]-'0')) + " "
		}
	case atom.Pre:
		r.preformat(starts)
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote:
		r.container(tag, starts)
	case atom.Table, atom.Tr, atom.Td, atom.Th:
		r.table(tag, starts)
	case atom.P, atom.Caption:
		r.block(2)
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Form,
		atom.Fieldset, atom.Dl, atom.Details, atom.Address, atom.Center, atom.Body:
		r.inner(2)
	case atom.Dt, atom.Dd, atom.Option, atom.Summary, atom.Figcaption, atom.Legend:
		r.inner(1)
	}
}

// text writes text and collapses its white space unless it is preformatted.
func (r *renderer) text(s string) {
	if r.pre {
		r.verbatim(s)
		return
	}
	for s != "" {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		r.space = r.space || len(rest) < len(s)
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			r.word(rest[:end])
		}
		s = rest[end:]
	}
}

// word writes a text without white space, after everything that is pending.
func (r *renderer) word(s string) {
	signs := r.signs
	r.signs = ""
	r.sign(signs)
	if r.cells > 0 {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	r.out.WriteString(s)
}

// sign writes a sign of a block. Signs of emphasis stay pending.
func (r *renderer) sign(s string) {
	r.begin()
	if r.space {
		r.out.WriteByte(' ')
	}
	r.out.WriteString(s)
	r.space, r.newCell = false, false
}

// begin starts a line if one is due.
func (r *renderer) begin() {
	if r.gap == 0 && r.out.Len() > 0 {
		return
	}
	if r.out.Len() > 0 {
		r.out.WriteString(strings.Repeat("\n", r.gap))
	}
	prefix := r.prefix()
	if n := len(r.open); n > 0 && r.open[n-1].tag == atom.Li { // the marker takes the place of the indent
		prefix = prefix[:max(0, len(prefix)-len(r.marker))]
	}
	r.out.WriteString(prefix + r.marker + r.title)
	r.gap, r.space, r.marker, r.title = 0, false, "", ""
}

// prefix returns the indents and signs at the start of each line.
func (r *renderer) prefix() string {
	if n := len(r.open); n > 0 {
		return r.open[n-1].prefix
	}
	return ""
}

// block ends the line and requires n line ends before the next text, or one in plain text. At the start of a cell it does nothing.
func (r *renderer) block(n int) {
	r.space = true
	if r.newCell {
		return
	}
	if !r.markdown {
		n = 1
	}
	r.gap = max(r.gap, n)
}

// inner is block for elements that are common in the cells of a table, where they are a space.
func (r *renderer) inner(n int) {
	if r.space = true; r.cells == 0 {
		r.block(n)
	}
}

// void writes an element without content.
func (r *renderer) void(tag atom.Atom, a map[string]string) {
	switch {
	case tag == atom.Img && r.markdown && !r.pre:
		if link := r.address(a["src"]); link != "" {
			r.word("![" + strings.Join(strings.Fields(a["alt"]), " ") + "](" + link + ")")
		} else {
			r.text(a["alt"])
		}
	case tag == atom.Img:
	case r.pre:
		r.verbatim("\n")
	case tag == atom.Br:
		r.inner(1)
	case r.markdown && r.cells == 0:
		r.block(2)
		r.sign("---")
		fallthrough
	default:
		r.inner(2)
	}
}

// mark opens or closes emphasis. Its sign is written before the next word, or right after the last one.
func (r *renderer) mark(tag atom.Atom, starts bool) {
	if r.pre || !r.markdown || r.marks[tag] == starts {
		return
	}
	if r.marks[tag] = starts; starts {
		r.signs += signs[tag]
	} else {
		r.end(signs[tag], signs[tag])
	}
}

// end writes the end of emphasis or a link, unless no text followed its beginning.
func (r *renderer) end(begin, end string) {
	if i := strings.LastIndex(r.signs, begin); i >= 0 {
		r.signs = r.signs[:i] + r.signs[i+len(begin):]
	} else {
		r.out.WriteString(end)
	}
}

// link opens or closes a link. A link that is open ends at the next one.
func (r *renderer) link(starts bool, ref string) {
	if r.pre || !r.markdown {
		return
	}
	if r.target != "" {
		r.end("[", "]("+r.target+")")
		r.target = ""
	}
	if starts {
		if r.target = r.address(ref); r.target != "" {
			r.signs += "["
		}
	}
}

// address returns the absolute URL of ref, or "" if it cannot be followed, for example an embedded picture.
func (r *renderer) address(ref string) string {
	ref = strings.TrimSpace(ref)
	u, err := r.base.Parse(ref)
	if err != nil || ref == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "ftp":
		return strings.ReplaceAll(strings.ReplaceAll(u.String(), "(", "%28"), ")", "%29")
	}
	return ""
}

// preformat begins or ends preformatted text. A fence without text is not written.
func (r *renderer) preformat(starts bool) {
	switch {
	case starts && !r.pre:
		r.leaveRow()
		r.block(2)
		r.pre, r.fresh = true, true
	case !starts && r.pre:
		if r.pre = false; !r.fresh {
			if r.gap = 1; r.markdown {
				r.sign("```")
			}
		}
		r.block(2)
	}
}

// verbatim writes preformatted text. Line ends stay pending until the next text, so trailing ones are dropped; so is one at the start.
func (r *renderer) verbatim(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if r.fresh && s != "" {
		if r.fresh = false; r.markdown {
			r.sign("```")
			r.gap = 1
		}
		s = strings.TrimPrefix(s, "\n")
	}
	for line := range strings.SplitAfterSeq(s, "\n") {
		if r.out.Len() > MaxBytes { // the indents of short lines are longer than the text
			return
		}
		if text := strings.TrimSuffix(line, "\n"); text != "" {
			r.begin()
			r.out.WriteString(text)
		}
		if strings.HasSuffix(line, "\n") {
			r.gap++
		}
	}
}

// container begins or ends a list, an item or a quote.
func (r *renderer) container(tag atom.Atom, starts bool) {
	r.leaveRow()
	if tag == atom.Li {
		if i := r.find(atom.Li, atom.Ul, atom.Ol); i >= 0 && r.open[i].tag == atom.Li {
			r.open, r.marker = r.open[:i], ""
		}
		r.block(1)
		if starts {
			r.item()
		}
		return
	}
	distance := 2
	if i := r.find(tag); !starts && i >= 0 {
		r.open, r.marker = r.open[:i], ""
	}
	if r.find(atom.Li) >= 0 {
		distance = 1
	}
	r.block(distance)
	if starts {
		sign := ""
		if tag == atom.Blockquote {
			sign = "> "
		}
		r.push(tag, sign)
	}
}

// item begins an item of the innermost list.
func (r *renderer) item() {
	marker := "- "
	if i := r.find(atom.Ol, atom.Ul); i >= 0 && r.open[i].tag == atom.Ol {
		r.open[i].number++
		marker = strconv.Itoa(r.open[i].number) + ". "
	}
	if r.push(atom.Li, strings.Repeat(" ", len(marker))) && r.markdown {
		r.marker = marker
	}
}

// push opens a level and returns true, unless too many are open.
func (r *renderer) push(tag atom.Atom, sign string) bool {
	if len(r.open) >= maxDepth {
		return false
	}
	if !r.markdown {
		sign = ""
	}
	r.open = append(r.open, level{tag: tag, prefix: r.prefix() + sign})
	return true
}

// find returns the index of the innermost open level with one of these tags, or -1.
func (r *renderer) find(tags ...atom.Atom) int {
	for i := len(r.open) - 1; i >= 0; i-- {
		if slices.Contains(tags, r.open[i].tag) {
			return i
		}
	}
	return -1
}

// table begins or ends a table, a row or a cell. Each row is a line. Paragraphs and other blocks in a cell break the line, as in tables that
// only lay out a page.
func (r *renderer) table(tag atom.Atom, starts bool) {
	switch {
	case tag == atom.Table:
		r.row()
		r.block(2)
		if r.rows = 0; starts {
			r.tables++
		} else {
			r.tables = max(0, r.tables-1)
		}
	case tag == atom.Tr:
		r.row()
		r.block(1)
	case !starts, !r.markdown, r.tables == 0:
		r.space = true
	default:
		if r.cells > 0 {
			r.gap, r.space = 0, true
		}
		r.sign("|")
		r.cells, r.newCell, r.space = r.cells+1, true, true
	}
}

// row ends the current row. The separator follows the first one.
func (r *renderer) row() {
	if r.cells > 0 {
		r.gap, r.space = 0, true
		r.sign("|")
		if r.rows++; r.rows == 1 {
			r.gap = 1
			r.sign("|" + strings.Repeat("---|", r.cells))
		}
	}
	r.leaveRow()
}

// leaveRow makes the rest of a row ordinary text.
func (r *renderer) leaveRow() { r.cells, r.newCell = 0, false }
