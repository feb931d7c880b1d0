package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/internal/visible"
)

// SignInError is returned if only the user can sign in.
type SignInError struct {
	Server string
	Scopes []string // scopes that the server requires in addition; nil: the user is not signed in
	Err    error    // why a refresh failed; nil without a token
}

// Error returns the reason and, if it helps, the command to run.
func (e *SignInError) Error() string {
	text := "not signed in"
	switch {
	case len(e.Scopes) > 0:
		text = "the server requires more scopes (" + strings.Join(e.Scopes, " ") + ")"
	case oauth.Passing(e.Err): // no command is needed: the next request tries again
		return "the token could not be refreshed: " + e.Err.Error()
	case e.Err != nil:
		text = "the token could not be refreshed: " + e.Err.Error()
	}
	return text + "; run: tenon mcp login " + visible.Word(e.Server)
}

// Unwrap returns the error of the refresh.
func (e *SignInError) Unwrap() error { return e.Err }

// Options configure an Authorizer. Server, URL and Store are required.
type Options struct {
	Server string // name of the server, for messages
	URL    string
	Config Config
	Store  *credentials.Store
	// Definition identifies the configuration of a project's server: tokens are used only by the one the user signed in for. Empty for
	// the user's own servers.
	Definition string
	// Fresh ignores the stored token until SignIn: the user signs in again.
	Fresh bool
	// Hide is called with the secrets of each token that is used, so that logs can hide them. It may be called concurrently. If nil, it is not
	// called.
	Hide func(secrets []string)
}

// Authorizer adds tokens to the requests to one server. It is safe for concurrent use.
type Authorizer struct {
	o        Options
	resource string
	client   *http.Client

	fresh     atomic.Bool                   // the stored token is ignored
	expired   atomic.Pointer[error]         // why the last request has no token; nil error: it has one
	challenge atomic.Pointer[http.Response] // the last challenge that only the user can answer, without its body
}

// New returns the authorizer of a server. It reads and sends nothing.
func New(o Options) *Authorizer {
	a := &Authorizer{o: o, resource: canonical(o.URL), client: newClient(o.URL)}
	a.fresh.Store(o.Fresh)
	return a
}

// canonical returns the canonical form of a server's URL, see the MCP specification, "Canonical Server URI".
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // no request can be sent to it
	}
	u.Scheme, u.Host, u.Fragment, u.User = strings.ToLower(u.Scheme), strings.ToLower(u.Host), "", nil
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u.String()
}

// Stored returns the stored credential of the server with its name. Errors: credentials.ErrNotFound, credentials.ErrFile.
func (a *Authorizer) Stored() (name string, c *credentials.Credential, err error) {
	all, err := a.o.Store.All()
	for n, found := range all {
		if a.mine(found) {
			return n, found, nil
		}
	}
	if err == nil {
		err = credentials.ErrNotFound
	}
	return "", nil, err
}

// mine reports whether a credential was issued for this server, client and definition. A configuration without sign-in names no client.
func (a *Authorizer) mine(c *credentials.Credential) bool {
	client := c.Client
	if client == nil || client.Resource != a.resource || client.Definition != a.o.Definition {
		return false
	}
	config := &a.o.Config
	return config.Off || client.Configured == config.ClientID && (!config.registered() || client.Secret == config.ClientSecret)
}

// Authorize adds the stored token to a request, if there is one. A token that cannot be refreshed is not an error: the server decides.
func (a *Authorizer) Authorize(req *http.Request) error {
	if req.Header.Get("Authorization") != "" {
		return nil // the user configured this header
	}
	c, err := a.token(req.Context(), "")
	a.expired.Store(&err)
	switch {
	case c != nil:
		req.Header.Set("Authorization", "Bearer "+c.Access)
	case errors.Is(err, credentials.ErrFile), errors.Is(err, credentials.ErrLocked):
		return err
	}
	return nil
}

// token returns the stored token, refreshed if it is expired or is the rejected one.
func (a *Authorizer) token(ctx context.Context, rejected string) (*credentials.Credential, error) {
	if a.fresh.Load() {
		return nil, credentials.ErrNotFound
	}
	name, _, err := a.Stored()
	if err != nil {
		return nil, err
	}
	c, err := a.o.Store.Refresh(ctx, name, rejected, a.refresh)
	if err == nil && a.o.Hide != nil {
		a.o.Hide(c.Secrets())
	}
	return c, err
}

// refreshTimeout limits a refresh. It is shorter than the usual timeouts of messages to a server; otherwise the error would be that the server
// did not answer.
const refreshTimeout = 8 * time.Second

// refresh requests a new token from the server that issued the old one.
func (a *Authorizer) refresh(ctx context.Context, old *credentials.Credential) (*credentials.Credential, error) {
	if old.Refresh == "" {
		return nil, errors.New("the token has expired, and it has no refresh token")
	}
	e := oauth.Endpoint{
		HTTP: a.client, URL: old.Client.TokenURL, ClientID: old.Client.ID, Secret: old.Client.Secret, InHeader: old.Client.InHeader,
		Timeout: refreshTimeout,
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}, "resource": {old.Client.Audience}}
	t, err := e.Request(ctx, form)
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Code == oauth.CodeInvalidClient && e.Secret != "" {
		e.InHeader = !e.InHeader // the server did not say which form it accepts
		t, err = e.Request(ctx, form)
	}
	if err != nil {
		return nil, err
	}
	fresh, client := *old, *old.Client
	client.InHeader, fresh.Client = e.InHeader, &client
	fresh.Access, fresh.Expires = t.Access, t.Expires
	if t.Refresh != "" {
		fresh.Refresh = t.Refresh
	}
	return &fresh, nil
}

// Challenged handles the refusal of a request: it reports whether the request can be repeated with another token, one that another
// request has got in the meantime or a refreshed one. It does not wait for the user. A *SignInError means that SignIn helps.
func (a *Authorizer) Challenged(ctx context.Context, req *http.Request, resp *http.Response) (retry bool, err error) {
	sent, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	header := resp.Header.Clone()
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		header.Del("WWW-Authenticate") // malformed: a refresh needs none, and SignIn finds the server's metadata without it
	}
	more := missingScopes(resp.StatusCode, challenges)
	if resp.StatusCode == http.StatusForbidden && more == nil {
		return false, nil // new credentials would not help
	}
	wanted := &SignInError{Server: a.o.Server, Scopes: more}
	if bearer && more == nil {
		c, err := a.token(ctx, sent)
		if err == nil && c.Access != sent {
			req.Header.Del("Authorization")
			return true, nil
		}
		wanted.Err = err
	}
	if expired := a.expired.Load(); !bearer && expired != nil && !errors.Is(*expired, credentials.ErrNotFound) {
		wanted.Err = *expired
	}
	a.challenge.Store(&http.Response{StatusCode: resp.StatusCode, Header: header, Body: http.NoBody})
	if more == nil {
		return false, wanted
	}
	return false, errors.Join(wanted, a.remember(ctx, more))
}

// missingScopes returns the scopes of the challenge insufficient_scope, or nil if the server did not send it. See RFC
// 6750, section 3.1.
func missingScopes(status int, challenges []oauthex.Challenge) []string {
	for _, c := range challenges {
		if status == http.StatusForbidden && c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return append([]string{}, strings.Fields(c.Params["scope"])...)
		}
	}
	return nil
}

// remember stores scopes that the server requires, for the next sign-in.
func (a *Authorizer) remember(ctx context.Context, scopes []string) error {
	name, _, err := a.Stored()
	if err == nil {
		err = a.o.Store.Change(ctx, name, func(c *credentials.Credential) { c.Client.Wanted = union(c.Client.Wanted, scopes) })
	}
	if errors.Is(err, credentials.ErrNotFound) {
		return nil // without a token there is nothing to extend
	}
	return err
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
