// Package web is the plugin that fetches pages for the model: the tool webfetch.
package web

import (
	"cmp"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of one call.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 2 * time.Minute
	MaxBytes       = 5 << 20 // of the body, after decompression
	maxRedirects   = 10
)

// ErrURL is wrapped by errors about invalid URLs.
var ErrURL = errors.New("bad URL")

// texts describe the tool; see tool.Spec.
//
//go:embed webfetch.md webfetch.json
var texts embed.FS

type webfetch struct {
	client func() *http.Client // shared by all calls
}

type fetchArgs struct {
	URL     string  `json:"url"`
	Format  string  `json:"format"`
	Timeout float64 `json:"timeout"` // seconds
	address *url.URL
}

// prepare requests the permission webfetch with the URL.
func prepare(_ context.Context, _ *sdk.ToolCall, a fetchArgs) ([]sdk.PermissionRequest, error) {
	return []sdk.PermissionRequest{permission(a.address, a.Format)}, nil
}

// permission returns the request for fetching a URL; "always" allows its host. A server may treat /a//b, /c/../a/b or /a%2Fb like /a/b, so the rules must allow
// both spellings.
func permission(u *url.URL, format string) sdk.PermissionRequest {
	patterns := []string{u.String()}
	clean := *u
	clean.RawPath = ""
	if clean.Path = path.Clean(u.Path); strings.HasSuffix(u.Path, "/") && clean.Path != "/" {
		clean.Path += "/"
	}
	if s := clean.String(); s != patterns[0] {
		patterns = append(patterns, s)
	}
	return sdk.PermissionRequest{
		Permission: "webfetch",
		Patterns:   patterns,
		Always:     []string{u.Scheme + "://" + u.Host + "/*"},
		Metadata:   sdk.Object{"url": u.String(), "format": format},
	}
}

// run fetches the page. A redirect to another host is reported, not followed; one within the host requires permission like the
// first address.
func (t *webfetch) run(ctx context.Context, call *sdk.ToolCall, args fetchArgs) (*sdk.ToolResult, error) {
	u := args.address
	clock := &clock{left: args.timeout()}
	ask := func(to *url.URL) error { return call.Host.Ask(ctx, permission(to, args.Format)) }
	page, err := t.follow(ctx, clock, u, args.Format, ask)
	var result *sdk.ToolResult
	if err == nil {
		err = clock.run(ctx, func(ctx context.Context) (err error) {
			result, err = page.result(ctx, u, args.Format)
			return err
		})
	}
	switch {
	case err == nil:
		return result, nil
	case clock.left <= 0 && ctx.Err() == nil:
		return nil, fmt.Errorf("fetch %s: no complete answer within %v", u, args.timeout())
	}
	return nil, fmt.Errorf("fetch %s: %w", u, err)
}

// clock measures the time of a call without the time for asking the user.
type clock struct{ left time.Duration }

// run calls f with the remaining time.
func (c *clock) run(ctx context.Context, f func(context.Context) error) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.left)
	defer cancel()
	err := f(limited)
	c.left -= time.Since(began)
	return err
}

// Resolve sets the URL in canonical form, which rules are matched with.
func (a *fetchArgs) Resolve(*sdk.ToolCall) (err error) {
	a.Format = cmp.Or(a.Format, "markdown")
	if a.address, err = url.Parse(strings.TrimSpace(a.URL)); err != nil {
		return fmt.Errorf("webfetch: %w: %w", ErrURL, err)
	}
	if err := canonical(a.address); err != nil {
		return fmt.Errorf("webfetch: %w: %q %w", ErrURL, a.URL, err)
	}
	return nil
}

// canonical converts a URL to the form that rules are matched with.
func canonical(u *url.URL) error {
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = host(u)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("does not begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case u.User != nil:
		return errors.New("contains a user name or password")
	}
	u.Path = cmp.Or(u.Path, "/")
	u.Fragment, u.RawFragment = "", ""
	return nil
}

// host returns the server of a URL in lower case, without trailing dots and the default port. A name that is not ASCII gets the form that net/http
// looks up, such as example.com for ｅxample.com. An IPv4 address written as IPv6 becomes IPv4.
func host(u *url.URL) string {
	name := strings.ToLower(u.Hostname())
	if ascii, err := idna.Lookup.ToASCII(name); err == nil { // else a name such as a_b, or none that can be looked up
		name = ascii
	}
	name = strings.TrimRight(name, ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		name = ip.Unmap().String()
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if p := httpx.Port(u); u.Scheme == "http" && p == "80" || u.Scheme == "https" && p == "443" {
		return name
	}
	return name + ":" + httpx.Port(u)
}

func (a fetchArgs) timeout() time.Duration {
	return cmp.Or(time.Duration(min(a.Timeout, MaxTimeout.Seconds())*float64(time.Second)), DefaultTimeout)
}

// result returns the tool result for the page.
func (p *page) result(ctx context.Context, u *url.URL, format string) (*sdk.ToolResult, error) {
	if p.moved != nil {
		return &sdk.ToolResult{
			Title:    u.String(),
			Output:   fmt.Sprintf("%s redirects to another host: %s\nNothing was fetched. Call webfetch with that URL if you need it.", u, p.moved),
			Metadata: sdk.Object{"redirect": p.moved.String()},
		}, nil
	}
	title := visible.Cut(fmt.Sprintf("%s (%s)", p.url, p.kind()), 500, "…")
	metadata := sdk.Object{"url": p.url.String(), "contentType": p.contentType, "bytes": float64(len(p.body))}
	if mime := p.kind(); isImage(mime) {
		_, name := path.Split(p.url.Path)
		return &sdk.ToolResult{
			Title:       title,
			Output:      fmt.Sprintf("The image is attached (%s, %d bytes).", mime, len(p.body)),
			Metadata:    metadata,
			Attachments: []*sdk.FilePart{{Mime: mime, Filename: name, URL: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(p.body)}},
		}, nil
	}
	if !p.isText() {
		return nil, fmt.Errorf("the answer is %s (%d bytes), not text", p.kind(), len(p.body))
	}
	text, err := p.text(ctx, format)
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Title: title, Output: text, Metadata: metadata}, nil
}

// maxKind is the maximum length of a media type, see RFC 6838, section 4.2.
const maxKind = 255

// kind returns the media type without parameters. It detects the type from the content if the header has no useful one or claims an image:
// providers refuse a conversation in which an image is some other file.
func (p *page) kind() string {
	kind, _, err := mime.ParseMediaType(p.contentType)
	if err != nil || len(kind) > maxKind || kind == "application/octet-stream" || kind == "binary/octet-stream" || isImage(kind) {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(p.body))
	}
	return kind
}

func isImage(mime string) bool {
	return strings.HasPrefix(mime, "image/") && media.Attachable(mime)
}

// New returns the plugin. Like net/http, it uses the proxy variables of the environment.
func New() *sdk.Bundle {
	f := &webfetch{client: sync.OnceValue(newClient)}
	return &sdk.Bundle{
		Info:     sdk.Manifest{Name: "web", Description: "fetches web pages", Carrier: sdk.CarrierBuiltin},
		ToolList: []sdk.Tool{tool.Spec[fetchArgs]{ID: "webfetch", Texts: texts, Prepare: prepare, Run: f.run}.Tool()},
		OnClose: func(context.Context) error {
			f.client().CloseIdleConnections()
			return nil
		},
	}
}

// newClient returns a client that does not follow redirects; see follow.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{Transport: httpx.Proxied{Transport: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
