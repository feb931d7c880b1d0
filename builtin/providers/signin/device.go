package signin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// pollMargin is added to the server's polling interval, because its clock may be faster; opencode does the same.
const pollMargin = 3 * time.Second

// deviceFlow signs in with a code that the user enters on any device, see RFC 8628.
type deviceFlow struct {
	http          oauth.Doer
	codes, tokens string // addresses
	client, scope string
}

func (f *deviceFlow) login(ctx context.Context, user sdk.AuthUser) (*oauth.Token, error) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	answer, err := oauth.Post(ctx, f.http, f.codes, form, url.Values{"client_id": {f.client}, "scope": {f.scope}}.Encode())
	if err != nil {
		return nil, err
	}
	code, address := answer.Text("user_code"), cmp.Or(answer.Text("verification_uri_complete"), answer.Text("verification_uri"))
	if code == "" || address == "" {
		return nil, errors.New("the answer of " + f.codes + " has no code")
	}
	user.Code(address, code)
	token := oauth.Endpoint{HTTP: f.http, URL: f.tokens, ClientID: f.client}
	return poll(ctx, answer, func(ctx context.Context) (*oauth.Token, error) {
		return token.Request(ctx, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {answer.Text("device_code")},
		})
	})
}

// poll waits for the user to confirm a code. The defaults come from RFC 8628, section 3.2, and from GitHub.
func poll(ctx context.Context, answer oauth.Answer, ask func(context.Context) (*oauth.Token, error)) (*oauth.Token, error) {
	interval, lifetime := 5*time.Second, 15*time.Minute
	if seconds := answer.Number("interval"); seconds > 0 && seconds <= 60 {
		interval = time.Duration(seconds) * time.Second
	}
	if seconds := answer.Number("expires_in"); seconds > 0 && seconds <= 3600 {
		lifetime = time.Duration(seconds) * time.Second
	}
	return oauth.Poll(ctx, interval+pollMargin, lifetime, ask)
}

// refresh returns a new token for the refresh token of an old one.
func refresh(ctx context.Context, endpoint *oauth.Endpoint, old *sdk.Token) (*oauth.Token, error) {
	if old.Refresh == "" {
		return nil, errors.New("no refresh token")
	}
	t, err := endpoint.Request(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	if err == nil {
		t.Refresh = cmp.Or(t.Refresh, old.Refresh)
	}
	return t, err
}
