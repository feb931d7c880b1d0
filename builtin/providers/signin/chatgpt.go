package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// chatgptClient is the OAuth client of OpenAI's Codex, see codex-rs/login in https://github.com/openai/codex.
const chatgptClient = "app_EMoamEEZ73f0CkXaXp7hrann"

// account is the metadata with the account that requests are charged to.
const account = "accountId"

// loginTime limits a sign-in in the browser.
const loginTime = 10 * time.Minute

// chatgpt signs in to ChatGPT, whose plan then pays for requests of the provider openai. A refresh token is accepted once.
type chatgpt struct {
	http     oauth.Doer
	issuer   string
	redirect string // the only one that the client has
	api      string
}

func (c *chatgpt) client(options sdk.Object, user sdk.AuthUser) string {
	client := text(options, "clientId", chatgptClient)
	if client == chatgptClient {
		user.Notice("OpenAI will name the application Codex, whose OAuth client is used; options.clientId replaces it")
	}
	return client
}

func (c *chatgpt) endpoint(client string) *oauth.Endpoint {
	return &oauth.Endpoint{HTTP: c.http, URL: c.issuer + "/oauth/token", ClientID: client}
}

// browser signs in with the authorization code flow and PKCE.
func (c *chatgpt) browser(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	redirect, err := oauth.Listen(ctx, c.redirect)
	if err != nil {
		return nil, err
	}
	defer redirect.Close(ctx)
	client, verifier := c.client(options, user), rand.Text()+rand.Text() // 52 characters of the 43 to 128 of RFC 7636, section 4.1
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect.URL}, "scope": {"openid profile email offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "state": {rand.Text()},
		"id_token_add_organizations": {"true"}, "codex_cli_simplified_flow": {"true"}, "originator": {"tenon"},
	}
	answer, err := redirect.Answer(ctx, c.issuer+"/oauth/authorize?"+query.Encode(), user.Visit)
	if err != nil {
		return nil, err
	}
	t, err := c.endpoint(client).Request(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {redirect.URL}, "code_verifier": {verifier},
	})
	if err != nil {
		return nil, err
	}
	return chatgptToken(t, nil), nil
}

// device signs in with a code that the user enters on any device.
func (c *chatgpt) device(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	client := c.client(options, user)
	answer, err := c.post(ctx, "/api/accounts/deviceauth/usercode", map[string]string{"client_id": client})
	if err != nil {
		return nil, err
	}
	code, id := answer.Text("user_code"), answer.Text("device_auth_id")
	if code == "" || id == "" {
		return nil, errors.New("the answer of OpenAI has no code")
	}
	user.Code(c.issuer+"/codex/device", code)
	t, err := poll(ctx, answer, func(ctx context.Context) (*oauth.Token, error) {
		confirmed, err := c.post(ctx, "/api/accounts/deviceauth/token", map[string]string{"device_auth_id": id, "user_code": code})
		if refused, ok := errors.AsType[*oauth.Error](err); ok && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound) {
			return nil, &oauth.Error{Status: refused.Status, Code: oauth.CodePending}
		}
		if err != nil {
			return nil, err
		}
		return c.endpoint(client).Request(ctx, url.Values{
			"grant_type": {"authorization_code"}, "code": {confirmed.Text("authorization_code")}, "code_verifier": {confirmed.Text("code_verifier")},
			"redirect_uri": {c.issuer + "/deviceauth/callback"},
		})
	})
	if err != nil {
		return nil, err
	}
	return chatgptToken(t, nil), nil
}

func (c *chatgpt) post(ctx context.Context, path string, body map[string]string) (oauth.Answer, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return oauth.Post(ctx, c.http, c.issuer+path, http.Header{"Content-Type": {"application/json"}}, string(content))
}

func (c *chatgpt) refresh(ctx context.Context, options sdk.Object, old *sdk.Token) (*sdk.Token, error) {
	t, err := refresh(ctx, c.endpoint(text(options, "clientId", chatgptClient)), old)
	if err != nil {
		return nil, err
	}
	return chatgptToken(t, old), nil
}

// chatgptToken returns a token with its account. old is the token that it replaces; nil if none.
func chatgptToken(t *oauth.Token, old *sdk.Token) *sdk.Token {
	out := &sdk.Token{Access: t.Access, Refresh: t.Refresh, Expires: t.Expires, Metadata: map[string]string{}}
	id := cmp.Or(accountOf(t.ID), accountOf(t.Access))
	if old != nil {
		id = cmp.Or(id, old.Metadata[account])
	}
	if id != "" {
		out.Metadata[account] = id
	}
	return out
}

// accountOf returns the account in a JWT, or "".
func accountOf(jwt string) string {
	claims := claimsOf(jwt)
	id := cmp.Or(claims.Account, claims.Auth.Account)
	if id == "" && len(claims.Organizations) > 0 {
		id = claims.Organizations[0].ID
	}
	if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "" // it becomes a header
	}
	return id
}

// apply selects the server of ChatGPT, which limits answers itself.
func (c *chatgpt) apply(info *sdk.ProviderInfo, _ *sdk.Token) {
	info.BaseURL = c.api
	if info.Options == nil {
		info.Options = sdk.Object{}
	}
	info.Options["outputLimit"] = false
}

func (*chatgpt) headers(_ context.Context, t *sdk.Token) (map[string]string, error) {
	headers := map[string]string{"Authorization": "Bearer " + t.Access, "originator": "tenon"}
	if id := t.Metadata[account]; id != "" {
		headers["ChatGPT-Account-Id"] = id
	}
	return headers, nil
}
