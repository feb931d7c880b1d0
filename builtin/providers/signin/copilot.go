package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

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
	wait   func(context.Context, time.Duration) error // replaces the wait in tests
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
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	answer, err := oauth.Post(ctx, c.http, server+"/login/device/code", form, url.Values{"client_id": {client}, "scope": {"read:user"}}.Encode())
	if err != nil {
		return nil, err
	}
	code, address := answer.Text("user_code"), answer.Text("verification_uri")
	if code == "" || address == "" {
		return nil, errors.New("the answer of GitHub has no code")
	}
	user.Code(address, code)
	token := oauth.Endpoint{HTTP: c.http, URL: server + "/login/oauth/access_token", ClientID: client}
	t, err := poll(ctx, answer, c.wait, func(ctx context.Context) (*oauth.Token, error) {
		return token.Request(ctx, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {answer.Text("device_code")},
		})
	})
	if err != nil {
		return nil, err
	}
	out := &sdk.Token{Access: t.Access, Refresh: t.Refresh, Expires: t.Expires}
	if domain != "" {
		out.Metadata = map[string]string{enterprise: domain}
	}
	return out, nil
}

// poll waits for the user to confirm a code. Defaults are those of RFC 8628, section 3.2, and of GitHub.
func poll(ctx context.Context, answer oauth.Answer, wait func(context.Context, time.Duration) error, ask func(context.Context) (*oauth.Token, error)) (*oauth.Token, error) {
	d := oauth.Device{Interval: 5 * time.Second, Lifetime: 15 * time.Minute, Wait: wait, Ask: ask}
	if seconds := answer.Number("interval"); seconds > 0 && seconds <= 60 {
		d.Interval = time.Duration(seconds) * time.Second
	}
	if seconds := answer.Number("expires_in"); seconds > 0 && seconds <= 3600 {
		d.Lifetime = time.Duration(seconds) * time.Second
	}
	d.Interval += pollMargin
	return d.Poll(ctx)
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
