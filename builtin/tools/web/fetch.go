package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

// errTooLarge means that the body is larger than MaxBytes.
var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", MaxBytes)

// page is the answer of a server.
type page struct {
	url         *url.URL // the last one, after redirects
	contentType string
	body        []byte
	moved       *url.URL // the target of a redirect; if set, nothing else is
}

// follow fetches a URL. It follows redirects within its host, also to https but not back, if ask allows each one.
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
	req.Header.Set("Accept", accept(format))
	req.Header.Set("Accept-Language", "en;q=0.9, *;q=0.5")
	resp, err := t.client().Do(req)
	if err != nil {
		return nil, cause(err)
	}
	defer resp.Body.Close()
	if location, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		return &page{moved: location}, nil
	}
	if resp.StatusCode >= 300 {
		return nil, statusError(resp)
	}
	body, err := readBody(resp)
	if err != nil {
		return nil, cause(err)
	}
	return &page{url: resp.Request.URL, contentType: resp.Header.Get("Content-Type"), body: body}, nil
}

func accept(format string) string {
	switch format {
	case "markdown":
		return "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"
	case "text":
		return "text/plain, text/html;q=0.9, */*;q=0.5"
	}
	return "text/html, */*;q=0.5"
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
	if text == "" {
		return fmt.Errorf("status %s", resp.Status)
	}
	return fmt.Errorf("status %s: %s", resp.Status, text)
}

// cause removes the method and the URL from an error: they are part of the caller's error.
func cause(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}
