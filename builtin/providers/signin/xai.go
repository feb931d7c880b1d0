package signin

import (
	"cmp"
	"time"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

const (
	xaiScope = "openid profile email offline_access grok-cli:access api:access"
	// xaiMargin is the time before the end of a token at which opencode refreshes it.
	xaiMargin = 2 * time.Minute
)

// xai signs in to a SuperGrok account with a device code. Its plan then pays for requests of the provider xai. A refresh token is accepted once.
type xai struct {
	account
	api string
}

func newXAI(client oauth.Doer, issuer, api string) *xai {
	return &xai{api: api, account: account{
		http: client, issuer: issuer, codes: "/oauth2/device/code", tokens: "/oauth2/token", scope: xaiScope, adjust: endEarly,
		client: "b1a00492-073a-47ea-816f-4c329264a828", // of xAI's Grok CLI, see opencode's packages/opencode/src/plugin/xai
		owner:  "xAI will name the application Grok CLI",
	}}
}

// endEarly makes a token end before its server refuses it. Without expires_in, it ends when the JWT does.
func endEarly(t *sdk.Token, _ *oauth.Token, _ *sdk.Token) {
	if end := cmp.Or(t.Expires, claimsOf(t.Access).expires()); end > 0 {
		t.Expires = end - xaiMargin.Milliseconds()
	}
}

// apply selects xAI's own server: the token is not for others. The plan pays.
func (x *xai) apply(info *sdk.ProviderInfo, _ *sdk.Token) {
	info.BaseURL, info.Plan = x.api, func(m *sdk.Model) bool {
		m.Cost = sdk.ModelCost{}
		return true
	}
}
