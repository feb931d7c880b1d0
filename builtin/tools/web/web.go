// Package web is the plugin that fetches pages for the model: the tool webfetch.
package web

import (
	"context"
	"net/http"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the web plugin.
type Plugin struct {
	tool.Plugin
	fetcher *webfetch
}

// New returns the plugin. Like net/http, it uses the proxy variables of the environment.
func New() *Plugin {
	f := &webfetch{client: sync.OnceValue(newClient)}
	return &Plugin{tool.Plugin{Name: "web", Description: "fetches web pages", List: []sdk.Tool{f.tool()}}, f}
}

// Close ends idle connections.
func (p *Plugin) Close(context.Context) error {
	p.fetcher.client().CloseIdleConnections()
	return nil
}

// newClient returns a client that does not follow redirects; see follow.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{Transport: httpx.Proxied{Transport: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
