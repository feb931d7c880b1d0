package signin

import (
	"context"
	"time"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// xaiClient is the OAuth client of xAI's Grok CLI, see opencode's packages/opencode/src/plugin/xai.
	xaiClient = "b1a00492-073a-47ea-816f-4c329264a828"
	xaiScope  = "openid profile email offline_access grok-cli:access api:access"
	// xaiMargin is the time before the end of a token at which opencode refreshes it.
	xaiMargin = 2 * time.Minute
)

// xai signs in to a SuperGrok account with a device code. Its plan then pays for requests of the provider xai. A refresh token is accepted once.
type xai struct {
	http   oauth.Doer
	issuer string
	api    string
}

func (x *xai) login(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	client := text(options, "clientId", xaiClient)
	if client == xaiClient {
		user.Notice("xAI will name the application Grok CLI, whose OAuth client is used; options.clientId replaces it")
	}
	flow := deviceFlow{http: x.http, codes: x.issuer + "/oauth2/device/code", tokens: x.issuer + "/oauth2/token", client: client, scope: xaiScope}
	t, err := flow.login(ctx, user)
	if err != nil {
		return nil, err
	}
	return xaiToken(t), nil
}

func (x *xai) refresh(ctx context.Context, options sdk.Object, old *sdk.Token) (*sdk.Token, error) {
	t, err := refresh(ctx, &oauth.Endpoint{HTTP: x.http, URL: x.issuer + "/oauth2/token", ClientID: text(options, "clientId", xaiClient)}, old)
	if err != nil {
		return nil, err
	}
	return xaiToken(t), nil
}

// xaiToken returns a token that ends before its server refuses it. Without expires_in, it ends when the JWT does.
func xaiToken(t *oauth.Token) *sdk.Token {
	out := &sdk.Token{Access: t.Access, Refresh: t.Refresh, Expires: t.Expires}
	if out.Expires == 0 {
		out.Expires = claimsOf(t.Access).expires()
	}
	if out.Expires > 0 {
		out.Expires -= xaiMargin.Milliseconds()
	}
	return out
}

// apply selects xAI's own server: the token is not for others.
func (x *xai) apply(info *sdk.ProviderInfo, _ *sdk.Token) { info.BaseURL = x.api }
