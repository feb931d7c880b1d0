package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

// errTooLarge means that the body is larger than MaxBytes.
var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", MaxBytes)

// maxAddress is the maximum length of a redirect's target in bytes: the user is asked about it. Common servers accept 8 KiB.
const maxAddress = 16 << 10

// page is the answer of a server.
type page struct {
	url         *url.URL // the last one, after redirects
	contentType string
	body        []byte
	moved       *url.URL // the target of a redirect; if set, nothing else is
}

// follow fetches a URL. It follows redirects within the host, and from http to https but not back, each only if ask allows it.
func (t *webfetch) follow(ctx context.Context, clock *clock, u *url.URL, format string, ask func(*url.URL) error) (*page, error) {
	for n := 0; ; n++ {
		var p *page
		err := clock.run(ctx, func(ctx context.Context) (err error) {
			p, err = t.fetch(ctx, u, format)
			return err
		})
		if err != nil || p.moved == nil {
			return p, err
		}
		to := *p.moved
		if canonical(&to) != nil || !sameHost(u, &to) {
			return p, nil
		}
		if n == maxRedirects {
			return nil, fmt.Errorf("more than %d redirects, the last one to %s", maxRedirects, &to)
		}
		if err := ask(&to); err != nil {
			return nil, fmt.Errorf("redirect to %s: %w", &to, err)
		}
		u = &to
	}
}

// fetch sends one request. ctx also limits reading the body.
func (t *webfetch) fetch(ctx context.Context, u *url.URL, format string) (*page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; tenon)")
	req.Header.Set("Accept", accepts[format])
	req.Header.Set("Accept-Language", "en;q=0.9, *;q=0.5")
	resp, err := t.client().Do(req)
	if err != nil {
		return nil, httpx.WithoutURL(err) // the caller's error contains the URL
	}
	defer resp.Body.Close()
	if location, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		if n := len(location.String()); n > maxAddress {
			return nil, fmt.Errorf("redirect to an address of %d bytes; the limit is %d", n, maxAddress)
		}
		return &page{moved: location}, nil
	}
	if resp.StatusCode >= 300 {
		return nil, statusError(resp)
	}
	body, err := readBody(resp)
	if err != nil {
		return nil, err
	}
	return &page{url: resp.Request.URL, contentType: resp.Header.Get("Content-Type"), body: body}, nil
}

// accepts lists the wanted media types by format.
var accepts = map[string]string{
	"markdown": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
	"text":     "text/plain, text/html;q=0.9, */*;q=0.5",
	"html":     "text/html, */*;q=0.5",
}

// sameHost reports whether a redirect stays on the same server, or goes from plain http to https at their usual ports.
func sameHost(from, to *url.URL) bool {
	return httpx.SameOrigin(from, to) ||
		from.Hostname() == to.Hostname() && from.Scheme == "http" && to.Scheme == "https" && httpx.Port(from) == "80" && httpx.Port(to) == "443"
}

func readBody(resp *http.Response) ([]byte, error) {
	if resp.ContentLength > MaxBytes {
		return nil, fmt.Errorf("%w: %d", errTooLarge, resp.ContentLength)
	}
	body, err := httpx.ReadAll(resp.Body, MaxBytes)
	if errors.Is(err, httpx.ErrTooLarge) {
		return nil, errTooLarge
	}
	return body, err
}

// statusError returns an error with the status and the beginning of the body.
func statusError(resp *http.Response) error {
	const excerpt = 600
	p := &page{url: resp.Request.URL, contentType: resp.Header.Get("Content-Type"), body: httpx.Excerpt(resp.Body, 64<<10)}
	text := ""
	if p.isText() {
		text, _ = p.text(resp.Request.Context(), "text")
	}
	text = visible.Cut(strings.Join(strings.Fields(text), " "), excerpt, " …")
	status := visible.Cut(resp.Status, 100, "…")
	if text == "" {
		return fmt.Errorf("status %s", status)
	}
	return fmt.Errorf("status %s: %s", status, text)
}

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
