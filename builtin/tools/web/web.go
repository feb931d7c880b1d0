// Package web is the plugin that fetches pages for the model: the tool webfetch.
package web

import (
	"context"
	"net/http"

	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the web plugin.
type Plugin struct {
	tool *webfetch
}

var (
	_ sdk.Plugin     = (*Plugin)(nil)
	_ sdk.ToolSource = (*Plugin)(nil)
)

// New returns the plugin. Like net/http, it uses the proxy variables of the environment.
func New() *Plugin {
	return &Plugin{tool: &webfetch{}}
}

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "web", Description: "fetches web pages", Carrier: sdk.CarrierBuiltin}
}

// Start does nothing: the first call creates the client.
func (*Plugin) Start(context.Context, sdk.Host) error { return nil }

// Close ends idle connections.
func (p *Plugin) Close(context.Context) error {
	p.tool.client().CloseIdleConnections()
	return nil
}

// Tools returns webfetch.
func (p *Plugin) Tools() []sdk.Tool { return []sdk.Tool{p.tool} }

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
