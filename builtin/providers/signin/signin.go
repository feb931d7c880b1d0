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

// New returns the plugin. It connects only during a sign-in. The usual sign-in of each provider is the first.
func New() *sdk.Bundle {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 5 * time.Second}
	client := &http.Client{Transport: httpx.Proxied{Transport: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	copilot := newCopilot(client, "https://github.com")
	account := newChatGPT(client, "https://auth.openai.com", "http://localhost:1455/auth/callback", "https://chatgpt.com/backend-api/codex")
	grok := newXAI(client, "https://auth.x.ai", "https://api.x.ai/v1")
	az := &azure{command: []string{"az"}}
	chatgpt := func(id, name string, login func(context.Context, sdk.Object, sdk.AuthUser) (*sdk.Token, error)) sdk.AuthMethod {
		return sdk.AuthMethod{Provider: "openai", ID: id, Name: name, Login: login, Refresh: account.refresh, Apply: account.apply, Headers: account.headers}
	}
	entra := func(provider string) sdk.AuthMethod {
		return sdk.AuthMethod{
			Provider: provider, ID: "entra", Name: "Microsoft Entra ID, with the Azure CLI", Login: az.login, Refresh: az.refresh, Serves: azureServes,
		}
	}
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "signin", Description: "Sign-in to GitHub Copilot, ChatGPT, xAI and Azure", Carrier: sdk.CarrierBuiltin},
		AuthList: []sdk.AuthMethod{
			{Provider: "github-copilot", ID: "device", Name: "GitHub account", Login: copilot.login, Apply: applyCopilot},
			{Provider: "xai", ID: "device", Name: "SuperGrok account, with a code", Login: grok.device, Refresh: grok.refresh, Apply: grok.apply},
			entra("azure"),
			entra("azure-cognitive-services"),
			chatgpt("browser", "ChatGPT account, in a browser on this machine", account.browser),
			chatgpt("device", "ChatGPT account, with a code", account.code),
		},
		OnStart: func(_ context.Context, h sdk.Host) error {
			az.project = h.Project().Worktree
			return nil
		},
	}
}

// text returns an option that is a text, or the default.
func text(options sdk.Object, name, otherwise string) string {
	if s, ok := options[name].(string); ok && s != "" {
		return s
	}
	return otherwise
}
