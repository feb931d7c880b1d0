package markdown

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/tenonhq/tenon/internal/highlight"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// minWidth is the smallest width in columns. Deeply nested blocks are no longer indented when less remains.
	minWidth = 10
	// codeIndent precedes each line of code.
	codeIndent = "  "
	tabStop    = 4 // columns
	// filledLine is the length in bytes from which a line of a paragraph counts as full. Most texts break lines at 65 columns or more.
	filledLine = 60
)

// renderer renders parsed blocks.
type renderer struct {
	style  *Style
	source []byte
	// number is the number of the first item if the text begins with an ordered list that continues another one; 0 if it does not.
	number int
	// coder is the state of the last block of code. If it is continued, the first block continues an earlier one.
	coder     coder
	continued ast.Node
	// apart means that a blank line must precede the first rows, after blocks that have no rows.
	apart bool
}

// parse returns the blocks of a text without control characters.
func parse(source string) (ast.Node, []byte) {
	data := []byte(source)
	return blockParser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext())), data
}

// blocks renders the children of a node.
func (r *renderer) blocks(n ast.Node, width int) []string {
	var rows []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		block := r.block(c, width)
		if previous := c.PreviousSibling(); previous != nil && len(block) > 0 && r.separate(previous, c) {
			if len(rows) > 0 {
				rows = append(rows, "")
			} else if n.Parent() == nil {
				r.apart = true
			}
		}
		rows = append(rows, block...)
	}
	return rows
}

// separate reports whether a blank line separates two blocks: where the source has one, and around code and tables.
func (r *renderer) separate(a, b ast.Node) bool {
	return blankBefore(r.source, start(b, r.source)) || stands(a) || stands(b) || b.Kind() == ast.KindHeading
}

func stands(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindCodeBlock, ast.KindFencedCodeBlock, kindTable:
		return true
	}
	return false
}

func (r *renderer) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return r.heading(n, width)
	case *ast.ThematicBreak:
		return []string{paint(r.style.Faint, strings.Repeat("─", width))}
	case *ast.CodeBlock:
		return r.code(n, "", width)
	case *ast.FencedCodeBlock:
		return r.code(n, string(n.Language(r.source)), width)
	case *ast.Blockquote:
		bar := paint(r.style.Faint, "│") + " "
		return indented(r.blocks(n, inner(width, 2)), bar, bar, 2, width)
	case *ast.List:
		return r.list(n, width)
	case *table:
		return r.table(n, width)
	case *plain:
		return wrap([]span{{text: strings.TrimSuffix(string(n.Lines().Value(r.source)), "\n")}}, width, r.style.Overflow)
	}
	return wrap(r.inline(n, ""), width, r.style.Overflow)
}

// inner returns the width that remains after an indent.
func inner(width, indent int) int {
	if width-indent < minWidth {
		return width
	}
	return width - indent
}

// indented puts first before the first row and rest before the others. It does not indent blocks that would become too narrow.
func indented(rows []string, first, rest string, indent, width int) []string {
	if inner(width, indent) == width {
		return rows
	}
	for i := range rows {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		if rows[i] == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		rows[i] = prefix + rows[i]
	}
	return rows
}

func (r *renderer) heading(n *ast.Heading, width int) []string {
	spans := r.inline(n, r.style.Heading)
	if r.style.Heading == "" {
		spans = append([]span{{text: strings.Repeat("#", n.Level) + " "}}, spans...)
	}
	return wrap(spans, width, r.style.Overflow)
}

// list renders a list. Items without a blank line between them stay together.
func (r *renderer) list(n *ast.List, width int) []string {
	number := n.Start
	if r.number > 0 && n.PreviousSibling() == nil && n.Parent().Kind() == ast.KindDocument {
		number = r.number
	}
	var rows []string
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if n.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		columns := columnsOf(marker)
		if item.PreviousSibling() != nil && blankBefore(r.source, start(item, r.source)) {
			rows = append(rows, "")
		}
		body := r.blocks(item, inner(width, columns))
		if len(body) == 0 {
			body = []string{""}
		}
		rows = append(rows, indented(body, paint(r.style.Faint, marker), strings.Repeat(" ", columns), columns, width)...)
	}
	return rows
}

// code renders a block of code.
func (r *renderer) code(n ast.Node, language string, width int) []string {
	if n != r.continued {
		r.coder = coder{style: r.style, language: highlight.Named(language), diff: language == "diff" || language == "patch"}
	}
	var rows []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		rows = append(rows, r.coder.line(strings.TrimSuffix(string(segment.Value(r.source)), "\n"), width)...)
	}
	return rows
}

// coder renders the lines of a block of code, one after another.
type coder struct {
	style    *Style
	language *highlight.Language
	diff     bool
	reader   DiffReader
	state    highlight.State
}

func (c *coder) line(text string, width int) []string {
	text = detab(text)
	kind := KindOther
	if c.diff {
		kind = c.reader.Line(text) // an empty line counts, too
	}
	if strings.TrimSpace(text) == "" {
		return []string{""}
	}
	var spans []span
	if c.diff {
		spans = []span{{text: text, look: c.style.diffLook(kind)}}
	} else {
		var tokens []highlight.Token
		tokens, c.state = c.language.Line(text, c.state)
		for _, t := range tokens {
			spans = append(spans, span{text: t.Text, look: c.style.token(t.Kind)})
		}
	}
	n := len(codeIndent)
	w := wrapper{width: inner(width, n), overflow: c.style.Overflow, chops: true}
	return indented(w.rows(spans), codeIndent, codeIndent, n, width)
}

// detab replaces the tabs of a line with spaces.
func detab(line string) string {
	if strings.IndexByte(line, '\t') < 0 {
		return line
	}
	var b strings.Builder
	column := 0
	for piece := range strings.SplitAfterSeq(line, "\t") {
		piece, tab := strings.CutSuffix(piece, "\t")
		b.WriteString(piece)
		column += columnsOf(piece)
		if tab {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
	}
	return b.String()
}

// inline returns the text in a block or in an inline node, on top of a look.
func (r *renderer) inline(n ast.Node, look string) []span {
	var spans []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = append(spans, r.node(c, look)...)
	}
	return spans
}

func (r *renderer) node(n ast.Node, look string) []span {
	s := r.style
	switch n := n.(type) {
	case *ast.Text:
		text := resolve(n.Segment.Value(r.source)) // escapes and character references
		switch {
		case n.SoftLineBreak() && r.filled(n):
			text += " "
		case n.SoftLineBreak() || n.HardLineBreak():
			text += "\n"
		}
		return []span{{text: text, look: look}}
	case *ast.CodeSpan:
		return r.codeSpan(n, look)
	case *ast.Emphasis:
		if n.Level == 2 {
			return r.marked(n, look, s.Strong, "**")
		}
		return r.marked(n, look, s.Emphasis, "*")
	case *strike:
		return r.marked(n, look, s.Strike, "~~")
	case *ast.AutoLink:
		return r.link([]span{{text: printable(n.Label(r.source)), look: with(look, s.Link)}}, string(n.URL(r.source)), look)
	case *ast.Link:
		return r.link(r.inline(n, with(look, s.Link)), resolve(n.Destination), look)
	case *ast.Image:
		return r.link(append([]span{{text: "image: ", look: look}}, r.inline(n, with(look, s.Link))...), resolve(n.Destination), look)
	case *ast.RawHTML:
		html := n.Segments.Value(r.source)
		if bytes.HasPrefix(bytes.ToLower(html), []byte("<br")) {
			return []span{{text: "\n"}}
		}
		return []span{{text: printable(html), look: with(look, s.Faint)}}
	}
	return r.inline(n, look)
}

// filled reports whether the line break after a text exists only because the source line was full. Other line breaks in paragraphs are kept,
// because models insert them on purpose.
func (r *renderer) filled(n *ast.Text) bool {
	end := n.Segment.Stop
	return !n.HardLineBreak() && end-(bytes.LastIndexByte(r.source[:end], '\n')+1) >= filledLine
}

// marked returns text with a look or, without one, between its Markdown marks.
func (r *renderer) marked(n ast.Node, below, look, mark string) []span {
	spans := r.inline(n, with(below, look))
	if look != "" {
		return spans
	}
	return append(append([]span{{text: mark, look: below}}, spans...), span{text: mark, look: below})
}

func (r *renderer) codeSpan(n *ast.CodeSpan, look string) []span {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.source))
		}
	}
	code := strings.NewReplacer("\n", " ", "\t", " ").Replace(b.String())
	if inTable(n) { // \| is a bar there
		code = strings.ReplaceAll(code, `\|`, "|")
	}
	if r.style.Code == "" {
		code = "`" + code + "`"
	}
	return []span{{text: code, look: with(look, r.style.Code)}}
}

func inTable(n ast.Node) bool {
	for n != nil && n.Kind() != kindTable {
		n = n.Parent()
	}
	return n != nil
}

// link adds the address to the text of a link, unless the text is the address.
func (r *renderer) link(label []span, address, look string) []span {
	var text string
	for _, s := range label {
		text += s.text
	}
	address = oneLine(address)
	if address != "" && text != address && "mailto:"+text != address {
		label = append(label, span{text: " (" + address + ")", look: with(look, r.style.Faint)})
	}
	return label
}

func resolve(value []byte) string {
	return oneLine(string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))))
}

// printable returns text with no control character except line feeds: a reference such as &#27; may name any.
func printable(value []byte) string {
	return strings.ReplaceAll(visible.Prose(string(value)), "\t", " ")
}

func oneLine(text string) string { return strings.ReplaceAll(printable([]byte(text)), "\n", " ") }
