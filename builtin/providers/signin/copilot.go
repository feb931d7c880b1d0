package signin

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// enterprise is the option and the metadata with the address of GitHub Enterprise.
const enterprise = "enterpriseUrl"

// copilot signs in to GitHub with a device code, see https://docs.github.com/apps/oauth-apps ("Device flow"). The token does not expire.
type copilot struct{ account }

func newCopilot(client oauth.Doer, issuer string) *copilot {
	return &copilot{account{
		http: client, issuer: issuer, codes: "/login/device/code", tokens: "/login/oauth/access_token", scope: "read:user",
		client: "Ov23li8tweQw6odWQebz", // of opencode, see its packages/opencode/src/plugin/github-copilot
		owner:  "GitHub will name the application opencode",
	}}
}

func (c *copilot) login(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	domain := text(options, enterprise, "")
	if domain == "" {
		return c.device(ctx, options, user)
	}
	server := c.account
	server.issuer = "https://" + strings.TrimSuffix(strings.TrimPrefix(domain, "https://"), "/")
	t, err := server.device(ctx, options, user)
	if err == nil {
		t.Metadata = map[string]string{enterprise: domain}
	}
	return t, err
}

// applyCopilot selects the address of GitHub Enterprise.
func applyCopilot(info *sdk.ProviderInfo, t *sdk.Token) {
	if domain := t.Metadata[enterprise]; domain != "" && info.Options[enterprise] == nil {
		if info.Options == nil {
			info.Options = sdk.Object{}
		}
		info.Options[enterprise] = domain
	}
}
