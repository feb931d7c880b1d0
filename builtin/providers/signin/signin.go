// Package signin contributes the sign-ins to providers with accounts instead of keys: GitHub Copilot, ChatGPT, xAI, and Azure with the Azure CLI.
//
// The first three use the OAuth clients of other programs, because the servers accept no others; the client's owner is named at sign-in, and
// options.clientId replaces it.
package signin

import (
	"context"
	"net/http"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin contributes the sign-ins.
type Plugin struct {
	copilot *copilot
	chatgpt *chatgpt
	xai     *xai
	azure   azure
}

var (
	_ sdk.Plugin     = (*Plugin)(nil)
	_ sdk.AuthSource = (*Plugin)(nil)
)

// New returns the plugin. It connects only during a sign-in.
func New() *Plugin {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 5 * time.Second}
	client := &http.Client{Transport: httpx.Proxied{Transport: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Plugin{
		copilot: newCopilot(client, "https://github.com"),
		chatgpt: newChatGPT(client, "https://auth.openai.com", "http://localhost:1455/auth/callback", "https://chatgpt.com/backend-api/codex"),
		xai:     newXAI(client, "https://auth.x.ai", "https://api.x.ai/v1"),
		azure:   azure{command: []string{"az"}},
	}
}

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "signin", Description: "Sign-in to GitHub Copilot, ChatGPT, xAI and Azure", Carrier: sdk.CarrierBuiltin}
}

// Start stores the project, whose programs are not run.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.azure.project = h.Project().Worktree
	return nil
}

// Close does nothing.
func (*Plugin) Close(context.Context) error { return nil }

// AuthMethods returns the sign-ins, the usual one of each provider first.
func (p *Plugin) AuthMethods() []sdk.AuthMethod {
	chatgpt := func(id, name string, login func(context.Context, sdk.Object, sdk.AuthUser) (*sdk.Token, error)) sdk.AuthMethod {
		return sdk.AuthMethod{
			Provider: "openai", ID: id, Name: name, Login: login, Refresh: p.chatgpt.refresh, Apply: p.chatgpt.apply, Headers: p.chatgpt.headers,
		}
	}
	entra := func(provider string) sdk.AuthMethod {
		return sdk.AuthMethod{
			Provider: provider, ID: "entra", Name: "Microsoft Entra ID, with the Azure CLI", Login: p.azure.login, Refresh: p.azure.refresh, Serves: azureServes,
		}
	}
	return []sdk.AuthMethod{
		{Provider: "github-copilot", ID: "device", Name: "GitHub account", Login: p.copilot.login, Apply: applyCopilot},
		{Provider: "xai", ID: "device", Name: "SuperGrok account, with a code", Login: p.xai.device, Refresh: p.xai.refresh, Apply: p.xai.apply},
		entra("azure"),
		entra("azure-cognitive-services"),
		chatgpt("browser", "ChatGPT account, in a browser on this machine", p.chatgpt.browser),
		chatgpt("device", "ChatGPT account, with a code", p.chatgpt.code),
	}
}

// text returns an option that is a text, or the default.
func text(options sdk.Object, name, otherwise string) string {
	if s, ok := options[name].(string); ok && s != "" {
		return s
	}
	return otherwise
}

func setOption(info *sdk.ProviderInfo, name string, value any) {
	if info.Options == nil {
		info.Options = sdk.Object{}
	}
	info.Options[name] = value
}
