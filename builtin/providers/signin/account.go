package signin

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// pollMargin is added to the server's polling interval, because its clock may be faster; opencode does the same.
const pollMargin = 3 * time.Second

// account is a kind of account: the server that issues its tokens, and the OAuth client of another program that tenon uses there.
type account struct {
	http   oauth.Doer
	issuer string // address of the server
	tokens string // path of tokens
	codes  string // path of device codes; empty: the server has its own flow
	scope  string // of device codes
	client string // its ID
	owner  string // beginning of a sentence that says whose name the user will see
	// adjust completes a token. old is the token that it replaces, or the zero value. A nil adjust means that tokens
	// are complete as issued.
	adjust func(t *sdk.Token, issued *oauth.Token, old *sdk.Token)
}

// endpoint returns the token endpoint with the client of the options. If user is not nil, it tells the user whose client that is.
func (a *account) endpoint(options sdk.Object, user sdk.AuthUser) *oauth.Endpoint {
	client := text(options, "clientId", a.client)
	if client == a.client && user != nil {
		user.Notice(a.owner + ", whose OAuth client is used; options.clientId replaces it")
	}
	return &oauth.Endpoint{HTTP: a.http, URL: a.issuer + a.tokens, ClientID: client}
}

// token returns an issued token in the form of the store.
func (a *account) token(issued *oauth.Token, err error, old *sdk.Token) (*sdk.Token, error) {
	if err != nil {
		return nil, err
	}
	t := &sdk.Token{Access: issued.Access, Refresh: cmp.Or(issued.Refresh, old.Refresh), Expires: issued.Expires}
	if a.adjust != nil {
		a.adjust(t, issued, old)
	}
	return t, nil
}

// device signs in with a code that the user enters on any device, see RFC 8628.
func (a *account) device(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	tokens := a.endpoint(options, user)
	answer, err := oauth.Post(ctx, a.http, a.issuer+a.codes, url.Values{"client_id": {tokens.ClientID}, "scope": {a.scope}})
	if err != nil {
		return nil, err
	}
	code, address := answer.Text("user_code"), cmp.Or(answer.Text("verification_uri_complete"), answer.Text("verification_uri"))
	if err := show(user, address, code); err != nil {
		return nil, err
	}
	issued, err := poll(ctx, answer, func(ctx context.Context) (*oauth.Token, error) {
		return tokens.Request(ctx, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {answer.Text("device_code")},
		})
	})
	return a.token(issued, err, &sdk.Token{})
}

// show shows a server's code and the address where the user enters it.
func show(user sdk.AuthUser, address, code string) error {
	const maxCode, maxAddress = 100, 2 << 10 // bytes; users read and type them
	if code == "" || address == "" || len(code) > maxCode || len(address) > maxAddress {
		return errors.New("the answer of the authorization server has no code or no address, or one that is too long")
	}
	user.Code(address, code)
	return nil
}

// poll waits for the user to confirm a code. The defaults come from RFC 8628, section 3.2, and from GitHub.
func poll(ctx context.Context, answer oauth.Answer, ask func(context.Context) (*oauth.Token, error)) (*oauth.Token, error) {
	seconds := func(name string, limit, otherwise int64) time.Duration {
		n := answer.Number(name)
		if n == 0 || n > limit {
			n = otherwise
		}
		return time.Duration(n) * time.Second
	}
	return oauth.Poll(ctx, seconds("interval", 60, 5)+pollMargin, seconds("expires_in", 3600, 900), ask)
}

// refresh returns a new token for the refresh token of an old one.
func (a *account) refresh(ctx context.Context, options sdk.Object, old *sdk.Token) (*sdk.Token, error) {
	if old.Refresh == "" {
		return nil, errors.New("no refresh token")
	}
	issued, err := a.endpoint(options, nil).Request(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	return a.token(issued, err, old)
}
