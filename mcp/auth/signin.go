package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/internal/visible"
)

// SignIn signs the user in and stores the token. It answers the last challenge of the server. Without a challenge, it follows the
// server's metadata, because a server may require sign-in only for some tools. Errors: oauth.ErrDenied, errors of visit and of the
// flow.
func (a *Authorizer) SignIn(ctx context.Context, visit oauth.Visit) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.o.URL, nil)
	if err != nil {
		return err
	}
	a.mu.Lock()
	challenge := a.challenge
	a.mu.Unlock()
	challenge = cmp.Or(challenge, &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody})
	name, old, err := a.Stored()
	if err != nil && !errors.Is(err, credentials.ErrNotFound) {
		return err
	}
	issued, err := a.authorize(ctx, visit, req, challenge, old)
	if err != nil {
		return &flowError{err}
	}
	if err := a.o.Store.Put(ctx, issued.Client.Name(), issued, name); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh, a.challenge = false, nil
	return nil
}

// flowError is the error of a sign-in. The texts of go-sdk's errors contain whole answers, such as the page of a server that is down.
type flowError struct{ err error }

// Error returns a bounded text.
func (e *flowError) Error() string { return "sign-in: " + visible.Bound(e.err.Error(), 1<<10) }

// Unwrap returns the error of the flow.
func (e *flowError) Unwrap() error { return e.err }

// authorize runs the flow with the user and returns the token. old is the token to replace; nil if the user has none.
func (a *Authorizer) authorize(ctx context.Context, visit oauth.Visit, req *http.Request, challenge *http.Response, old *credentials.Credential) (*credentials.Credential, error) {
	redirect, address, err := a.listen(ctx)
	if err != nil {
		return nil, err
	}
	if redirect != nil {
		defer redirect.Close(ctx)
	}
	var issued *credentials.Credential
	var audience string // the resource that a token is requested for
	config := a.flow(address, old)
	config.AuthorizationCodeFetcher = func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		answer, err := redirect.Answer(ctx, args.URL, visit)
		if err != nil {
			return nil, err
		}
		if u, err := url.Parse(args.URL); err == nil {
			audience = u.Query().Get("resource")
		}
		return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
	}
	config.NewTokenSource = func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
		issued = a.credential(c, t, audience)
		return oauth2.StaticTokenSource(t), nil
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return nil, err
	}
	if err := handler.Authorize(ctx, req, challenge); err != nil {
		return nil, err
	}
	if issued == nil {
		return nil, errors.New("the authorization server issued no token")
	}
	return issued, nil
}

// listen starts to listen for the answer of the browser, and returns the redirect address. The listener is nil if the address does not
// lead to this machine.
func (a *Authorizer) listen(ctx context.Context) (*oauth.Redirect, string, error) {
	address := a.o.Config.listenAt()
	if address == "" {
		return nil, a.o.Config.RedirectURI, nil
	}
	r, err := oauth.Listen(ctx, address)
	if err != nil {
		return nil, "", fmt.Errorf("%w; choose another port with oauth.callbackPort", err)
	}
	return r, r.URL, nil
}

// flow returns the configuration of go-sdk's flow: the client, the redirect address and the scopes.
func (a *Authorizer) flow(address string, old *credentials.Credential) *auth.AuthorizationCodeHandlerConfig {
	c := a.o.Config
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: address, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: a.client,
		ScopeFilter: func(named []string) []string { return a.scopes(named, old) },
	}
	switch {
	case c.registered():
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: c.ClientID}
		if c.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.ClientSecret}
		}
		return config
	case c.metadataDocument():
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: c.ClientID}
	}
	config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "tenon", ClientURI: "https://github.com/tenonhq/tenon", RedirectURIs: []string{address},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: "none", // as other hosts register; a secret would expire, and servers do not always say how to send it
	}}
	return config
}

// scopes returns the scopes to request: the user's choice, or those that the server names. If the server requires more than before, it
// returns all scopes that were granted or are wanted now, so that a new token loses none.
func (a *Authorizer) scopes(named []string, old *credentials.Credential) []string {
	out := named
	if chosen := strings.Fields(a.o.Config.Scope); len(chosen) > 0 {
		out = chosen
	}
	if old != nil && len(old.Client.Wanted) > 0 {
		out = union(union(old.Client.Scopes, old.Client.Wanted), out)
	}
	return out
}

// credential returns an issued token in the form of the store.
func (a *Authorizer) credential(c *oauth2.Config, t *oauth2.Token, audience string) *credentials.Credential {
	out := &credentials.Credential{
		Type: credentials.TypeOAuth, Access: t.AccessToken, Refresh: t.RefreshToken,
		Client: &credentials.Client{
			ID: c.ClientID, Secret: c.ClientSecret, Configured: a.o.Config.ClientID,
			Issuer: issuerOf(a.client, c.Endpoint.TokenURL), Resource: a.resource, Audience: audience, TokenURL: c.Endpoint.TokenURL,
			InHeader: c.ClientSecret != "" && c.Endpoint.AuthStyle != oauth2.AuthStyleInParams, Scopes: slices.Clone(c.Scopes), Definition: a.o.Definition,
		},
	}
	if !t.Expiry.IsZero() {
		out.Expires = t.Expiry.UnixMilli()
	}
	if scope, ok := t.Extra("scope").(string); ok && scope != "" {
		out.Client.Scopes = strings.Fields(scope)
	}
	return out
}
