package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// isText reports whether the body can be shown as text: by its media type, or because it is valid UTF-8 without NUL.
func (p *page) isText() bool {
	kind := p.kind()
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind, "json") ||
		utf8.Valid(p.body) && bytes.IndexByte(p.body, 0) < 0
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
	text, err := render(ctx, body, p.url, format == "markdown")
	if err != nil {
		return "", fmt.Errorf("read the HTML: %w; use format html to get the source", err)
	}
	return text, nil
}

// utf8 decodes the body from the charset in the headers, a byte order mark or a meta element.
func (p *page) utf8() ([]byte, error) {
	if utf8.Valid(p.body) && !strings.Contains(strings.ToLower(p.contentType), "charset") && !p.isHTML() {
		return p.body, nil
	}
	r, err := charset.NewReader(bytes.NewReader(p.body), p.contentType)
	if err == io.EOF { // an empty body
		return nil, nil
	}
	var out []byte
	if err == nil {
		out, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("charset of %q: %w", p.contentType, err)
	}
	return out, nil
}
