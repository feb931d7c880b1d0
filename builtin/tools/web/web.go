// Package web is the plugin that fetches pages for the model: the tool webfetch.
package web

import (
	"context"
	"net/http"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the web plugin.
type Plugin struct {
	tool.Plugin
	fetcher *webfetch
}

// New returns the plugin. Like net/http, it uses the proxy variables of the environment.
func New() *Plugin {
	f := &webfetch{}
	return &Plugin{tool.Plugin{Name: "web", Description: "fetches web pages", List: []sdk.Tool{f.tool()}}, f}
}

// Close ends idle connections.
func (p *Plugin) Close(context.Context) error {
	p.fetcher.client().CloseIdleConnections()
	return nil
}

// client returns the client shared by all calls.
func (t *webfetch) client() *http.Client {
	t.once.Do(func() {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxResponseHeaderBytes = 256 << 10
		// follow follows redirects.
		t.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	})
	return t.http
}
