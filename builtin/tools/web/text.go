package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// isText reports whether the body can be shown as text.
func (p *page) isText() bool {
	kind := p.kind()
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"), strings.HasSuffix(kind, "+yaml"):
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/x-sh",
		"application/sql", "application/graphql", "application/x-httpd-php", "application/typescript", "application/rtf":
		return true
	}
	return false
}

func (p *page) isHTML() bool {
	kind := p.kind()
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// text returns the body as valid UTF-8 in the format; only HTML is converted.
func (p *page) text(ctx context.Context, format string) (string, error) {
	body, err := p.utf8()
	if err != nil {
		return "", err
	}
	if !p.isHTML() || format == "html" {
		return strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD"), nil
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("read the HTML: %w; ask for format html to get it as it is", err)
	}
	if format == "text" {
		return plain(doc), nil
	}
	if nesting(doc) > maxNesting {
		return "[nested too deep for Markdown, shown as text]\n" + plain(doc), nil
	}
	dropEmbedded(doc)
	// Escaping takes time quadratic in the length of a text, and a model reads it better without.
	conv := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := conv.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(p.url.String()))
	if err != nil {
		return "", fmt.Errorf("turn the HTML into Markdown: %w; ask for format text or html", err)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

// maxNesting is how deep lists and quotes may stand in each other. Markdown indents each level, so that
// a page of 5 MB with hundreds of levels would become hundreds of megabytes.
const maxNesting = 20

func nesting(n *html.Node) int {
	deepest := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		deepest = max(deepest, nesting(c))
	}
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote:
		deepest++
	}
	return deepest
}

// dropEmbedded empties the links to data: URLs, which are pictures in a form that no model reads.
func dropEmbedded(n *html.Node) {
	for i := range n.Attr {
		if a := &n.Attr[i]; (a.Key == "src" || a.Key == "href") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "data:") {
			a.Val = ""
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		dropEmbedded(c)
	}
}

// utf8 decodes the body from the charset that the headers, a byte order mark or a meta element name.
func (p *page) utf8() ([]byte, error) {
	if utf8.Valid(p.body) && !strings.Contains(strings.ToLower(p.contentType), "charset") && !p.isHTML() {
		return p.body, nil
	}
	r, err := charset.NewReader(bytes.NewReader(p.body), p.contentType)
	if err == io.EOF { // an empty body
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("charset of %q: %w", p.contentType, err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("charset of %q: %w", p.contentType, err)
	}
	return out, nil
}

// plain returns what a reader sees: text without markup, blocks on lines of their own.
func plain(doc *html.Node) string {
	var lines []string
	var line strings.Builder
	flush := func() {
		if text := strings.Join(strings.Fields(line.String()), " "); text != "" {
			lines = append(lines, text)
		}
		line.Reset()
	}
	var walk func(n *html.Node, pre bool)
	walk = func(n *html.Node, pre bool) {
		switch n.Type {
		case html.TextNode:
			if pre {
				flush()
				lines = append(lines, strings.Trim(n.Data, "\n"))
				return
			}
			line.WriteString(n.Data)
			return
		case html.ElementNode:
			if hidden(n.DataAtom) {
				return
			}
		}
		block := n.Type == html.ElementNode && !inline(n.DataAtom)
		if block {
			flush()
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, pre || n.DataAtom == atom.Pre)
		}
		switch {
		case block:
			flush()
		case n.DataAtom == atom.Td || n.DataAtom == atom.Th:
			line.WriteByte(' ')
		}
	}
	walk(doc, false)
	flush()
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
}

func hidden(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Object, atom.Embed, atom.Head:
		return true
	}
	return false
}

func inline(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I,
		atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong,
		atom.Sub, atom.Sup, atom.Td, atom.Th, atom.Time, atom.U, atom.Var, atom.Wbr:
		return true
	}
	return false
}
