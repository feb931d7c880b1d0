package signin

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// copilotClient is the OAuth client of opencode, see its packages/opencode/src/plugin/github-copilot.
const copilotClient = "Ov23li8tweQw6odWQebz"

// enterprise is the option and the metadata with the address of GitHub Enterprise.
const enterprise = "enterpriseUrl"

// copilot signs in to GitHub with a device code, see https://docs.github.com/apps/oauth-apps ("Device flow"). The token has no end.
type copilot struct {
	http   oauth.Doer
	server string
}

func (c *copilot) login(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	server := c.server
	domain := text(options, enterprise, "")
	if domain != "" {
		server = "https://" + strings.TrimSuffix(strings.TrimPrefix(domain, "https://"), "/")
	}
	client := text(options, "clientId", copilotClient)
	if client == copilotClient {
		user.Notice("GitHub will name the application opencode, whose OAuth client is used; options.clientId replaces it")
	}
	flow := deviceFlow{http: c.http, codes: server + "/login/device/code", tokens: server + "/login/oauth/access_token", client: client, scope: "read:user"}
	t, err := flow.login(ctx, user)
	if err != nil {
		return nil, err
	}
	out := &sdk.Token{Access: t.Access, Refresh: t.Refresh, Expires: t.Expires}
	if domain != "" {
		out.Metadata = map[string]string{enterprise: domain}
	}
	return out, nil
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
