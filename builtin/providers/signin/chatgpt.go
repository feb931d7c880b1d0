package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// charged is the metadata with the account that requests are charged to.
const charged = "accountId"

// loginTime limits a sign-in in the browser.
const loginTime = 10 * time.Minute

// chatgpt signs in to ChatGPT, whose plan then pays for requests of the provider openai. A refresh token is accepted once.
type chatgpt struct {
	account
	redirect string // the only redirect address that the server accepts for the client
	api      string
}

func newChatGPT(client oauth.Doer, issuer, redirect, api string) *chatgpt {
	return &chatgpt{redirect: redirect, api: api, account: account{
		http: client, issuer: issuer, tokens: "/oauth/token", adjust: addAccount,
		client: "app_EMoamEEZ73f0CkXaXp7hrann", // of OpenAI's Codex, see codex-rs/login in https://github.com/openai/codex
		owner:  "OpenAI will name the application Codex",
	}}
}

// browser signs in with the authorization code flow and PKCE.
func (c *chatgpt) browser(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	redirect, err := oauth.Listen(ctx, c.redirect)
	if err != nil { // the port is fixed
		return nil, fmt.Errorf("%w; end the other sign-in that uses the port, or choose the method with a code", err)
	}
	defer redirect.Close(ctx)
	tokens, verifier := c.endpoint(options, user), rand.Text()+rand.Text() // 52 characters of the 43 to 128 of RFC 7636, section 4.1
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {tokens.ClientID}, "redirect_uri": {redirect.URL}, "scope": {"openid profile email offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "state": {rand.Text()},
		"id_token_add_organizations": {"true"}, "codex_cli_simplified_flow": {"true"}, "originator": {"tenon"},
	}
	answer, err := redirect.Answer(ctx, c.issuer+"/oauth/authorize?"+query.Encode(), user.Visit)
	if err != nil {
		return nil, err
	}
	issued, err := exchange(ctx, tokens, answer.Get("code"), verifier, redirect.URL)
	return c.token(issued, err, &sdk.Token{})
}

// exchange requests the token for an authorization code.
func exchange(ctx context.Context, tokens *oauth.Endpoint, code, verifier, redirect string) (*oauth.Token, error) {
	return tokens.Request(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirect},
	})
}

// code signs in with a code that the user enters on any device. OpenAI's flow is not that of RFC 8628.
func (c *chatgpt) code(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	tokens := c.endpoint(options, user)
	answer, err := oauth.Post(ctx, c.http, c.issuer+"/api/accounts/deviceauth/usercode", map[string]string{"client_id": tokens.ClientID})
	if err != nil {
		return nil, err
	}
	code, id := answer.Text("user_code"), answer.Text("device_auth_id")
	if id == "" {
		return nil, errors.New("the answer of OpenAI has no code")
	}
	if err := show(user, c.issuer+"/codex/device", code); err != nil {
		return nil, err
	}
	issued, err := poll(ctx, answer, func(ctx context.Context) (*oauth.Token, error) {
		confirmed, err := oauth.Post(ctx, c.http, c.issuer+"/api/accounts/deviceauth/token", map[string]string{"device_auth_id": id, "user_code": code})
		if refused, ok := errors.AsType[*oauth.Error](err); ok && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound) {
			return nil, &oauth.Error{Status: refused.Status, Code: oauth.CodePending}
		}
		if err != nil {
			return nil, err
		}
		return exchange(ctx, tokens, confirmed.Text("authorization_code"), confirmed.Text("code_verifier"), c.issuer+"/deviceauth/callback")
	})
	return c.token(issued, err, &sdk.Token{})
}

// addAccount adds the account of a token.
func addAccount(t *sdk.Token, issued *oauth.Token, old *sdk.Token) {
	t.Metadata = map[string]string{}
	if id := cmp.Or(accountOf(issued.ID), accountOf(issued.Access), old.Metadata[charged]); id != "" {
		t.Metadata[charged] = id
	}
}

// accountOf returns the account in a JWT, or "".
func accountOf(jwt string) string {
	claims := claimsOf(jwt)
	id := cmp.Or(claims.Account, claims.Auth.Account)
	if id == "" && len(claims.Organizations) > 0 {
		id = claims.Organizations[0].ID
	}
	return headerText(id)
}

// apply selects the server of ChatGPT and its models.
func (c *chatgpt) apply(info *sdk.ProviderInfo, _ *sdk.Token) {
	info.BaseURL, info.Plan = c.api, chatgptPlan
}

// chatgptPlan sets the price and the limits of a model for users of ChatGPT. They can use GPT 5.3 Codex Spark, and every model from
// GPT 5.4 on except pro and nano. The limits of ChatGPT's server are lower than those of OpenAI's API. See opencode's
// packages/core/src/plugin/provider/openai.ts.
func chatgptPlan(m *sdk.Model) bool {
	m.Cost = sdk.ModelCost{}
	if m.Limit.Context > 400_000 {
		m.Limit = sdk.ModelLimit{Context: 400_000, Input: 272_000, Output: 128_000}
	}
	excluded := strings.Contains(m.APIID, "-pro") || strings.Contains(m.APIID, "-nano")
	return wire.GPTVersion(m.APIID) >= 504 && !excluded || m.APIID == "gpt-5.3-codex-spark"
}

func (*chatgpt) headers(_ context.Context, t *sdk.Token) (map[string]string, error) {
	headers := map[string]string{"Authorization": "Bearer " + t.Access, "originator": "tenon"}
	if id := t.Metadata[charged]; id != "" {
		headers["ChatGPT-Account-Id"] = id
	}
	auth := claimsOf(t.Access).Auth
	if region := headerText(cmp.Or(auth.Data, auth.Compute)); region != "" && region != "no_constraint" {
		headers["x-openai-internal-codex-residency"] = region
	}
	return headers, nil
}

// headerText returns s if it may be the value of a header, else "".
func headerText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	return s
}

// claims are the claims of a JWT that sign-ins read.
type claims struct {
	Expires float64 `json:"exp"`                // in seconds, see RFC 7519, section 4.1.4
	Account string  `json:"chatgpt_account_id"` // this and the following: of ChatGPT
	Auth    struct {
		Account string `json:"chatgpt_account_id"`
		Data    string `json:"chatgpt_data_residency"` // region in which the workspace's data must stay
		Compute string `json:"chatgpt_compute_residency"`
	} `json:"https://api.openai.com/auth"`
	Organizations []struct {
		ID string `json:"id"`
	} `json:"organizations"`
}

// claimsOf returns the claims of a JWT, or no claims if jwt is something else. The signature is not checked: the token came from its issuer,
// over TLS.
func claimsOf(jwt string) (c claims) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return c
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return claims{}
	}
	return c
}

// expires returns the end of the token in Unix milliseconds, or 0.
func (c claims) expires() int64 {
	const latest = 1 << 40 // seconds; a later end is ignored
	if c.Expires > 0 && c.Expires < latest {
		return int64(c.Expires) * 1000
	}
	return 0
}
