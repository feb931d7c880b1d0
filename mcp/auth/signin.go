package auth

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/internal/visible"
)

// SignIn signs the user in and stores the token. It answers the last challenge of the server. Without a challenge, it follows the server's
// metadata, because a server may require sign-in only for some tools. Errors: oauth.ErrDenied, errors of visit and of the flow.
func (a *Authorizer) SignIn(ctx context.Context, visit oauth.Visit) error {
	challenge := cmp.Or(a.challenge.Load(), &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody})
	name, old, err := a.Stored()
	if err != nil && !errors.Is(err, credentials.ErrNotFound) {
		return err
	}
	issued, err := a.authorize(ctx, visit, challenge, old)
	if err != nil {
		return &flowError{err}
	}
	if err := a.o.Store.Put(ctx, issued.Client.Name(), issued, name); err != nil {
		return err
	}
	a.fresh.Store(false)
	a.challenge.Store(nil)
	return nil
}

// flowError is the error of a sign-in. The texts of go-sdk's errors contain whole answers, such as the page of a server that is down.
type flowError struct{ err error }

// Error returns a bounded text.
func (e *flowError) Error() string { return "sign-in: " + visible.Bound(e.err.Error(), 1<<10) }

// Unwrap returns the error of the flow.
func (e *flowError) Unwrap() error { return e.err }

// authorize runs the flow with the user and returns the token. old is the token to replace; nil if the user has none.
func (a *Authorizer) authorize(ctx context.Context, visit oauth.Visit, challenge *http.Response, old *credentials.Credential) (*credentials.Credential, error) {
	audience, challenge, err := a.locate(ctx, challenge)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, audience, nil)
	if err != nil {
		return nil, err
	}
	redirect, address, err := a.listen(ctx)
	if err != nil {
		return nil, err
	}
	if redirect != nil {
		defer redirect.Close(ctx)
	}
	var issued *credentials.Credential
	config := a.flow(address, old)
	config.AuthorizationCodeFetcher = func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		answer, err := redirect.Answer(ctx, args.URL, visit)
		if err != nil {
			return nil, err
		}
		u, _ := url.Parse(args.URL)          // Answer has parsed it
		audience = u.Query().Get("resource") // go-sdk read the metadata again
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
	registration := &oauthex.ClientRegistrationMetadata{}
	if config.DynamicClientRegistrationConfig != nil {
		registration = config.DynamicClientRegistrationConfig.Metadata
		registration.Scope = requested(ctx, *config, req, challenge)
	}
	method := registration.TokenEndpointAuthMethod
attempts:
	for _, registration.Scope = range slices.Compact([]string{registration.Scope, ""}) { // the server may refuse scopes
		for _, registration.TokenEndpointAuthMethod = range slices.Compact([]string{method, ""}) { // or want clients with a secret
			if err = handler.Authorize(ctx, req, challenge); !errors.As(err, new(*oauthex.ClientRegistrationError)) {
				break attempts
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if issued == nil {
		return nil, errors.New("the authorization server issued no token")
	}
	return issued, nil
}

// requested returns the scopes that a sign-in will request. Servers built with the official SDK for Python refuse scopes that a client was not
// registered with; go-sdk registers before it reads the scopes, so this runs its flow with another client, up to the visit.
func requested(ctx context.Context, config auth.AuthorizationCodeHandlerConfig, req *http.Request, challenge *http.Response) (scopes string) {
	config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: "unused"}
	config.ClientIDMetadataDocumentConfig, config.DynamicClientRegistrationConfig = nil, nil
	config.AuthorizationCodeFetcher = func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		u, err := url.Parse(args.URL)
		if err == nil {
			scopes = u.Query().Get("scope")
		}
		return nil, errors.New("only the scopes are of interest")
	}
	if handler, err := auth.NewAuthorizationCodeHandler(&config); err == nil {
		_ = handler.Authorize(ctx, req, challenge) // the sign-in reports its errors
	}
	return scopes
}

// locate finds the server's metadata, see RFC 9728. It returns the resource that they describe, for which a token is requested, and the challenge
// with the address of the metadata. Like the official SDKs for TypeScript and Python, and unlike go-sdk, it accepts a resource that contains the
// server's URL, such as its origin: many servers name that. Only the origin itself may do so, because a host may be shared: see ofOrigin.
// Without metadata, it returns the URL and the challenge.
func (a *Authorizer) locate(ctx context.Context, challenge *http.Response) (string, *http.Response, error) {
	server, err := url.Parse(a.o.URL)
	if err != nil {
		return "", nil, err
	}
	challenges, err := oauthex.ParseWWWAuthenticate(challenge.Header.Values("WWW-Authenticate"))
	var places []string
	for _, c := range challenges {
		if place := c.Params["resource_metadata"]; place != "" {
			places = append(places, place)
			break // go-sdk uses only the first, too
		}
	}
	root := &url.URL{Scheme: server.Scheme, Host: server.Host, Path: wellKnown, RawQuery: server.RawQuery}
	for _, place := range append(places, root.JoinPath(server.Path).String(), root.String()) {
		described, problem := a.resourceAt(ctx, place)
		switch {
		case problem != nil: // the next place may have the metadata
		case canonical(described) == a.resource || ofOrigin(place, server) && contains(described, server):
			header := http.Header{"Www-Authenticate": {fmt.Sprintf("Bearer resource_metadata=%q", place)}}
			for _, value := range challenge.Header.Values("WWW-Authenticate") {
				header.Add("Www-Authenticate", value)
			}
			return described, &http.Response{StatusCode: challenge.StatusCode, Header: header, Body: http.NoBody}, nil
		case place != root.String(): // the root may describe a neighbor of a server without metadata
			err = cmp.Or(err, fmt.Errorf("the metadata at %s describe %s, another server", place, visible.Strip(described)))
		}
	}
	return a.o.URL, challenge, err
}

// resourceAt returns the resource that the metadata at an address describe.
func (a *Authorizer) resourceAt(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var metadata struct {
		Resource string `json:"resource"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&metadata); err != nil || metadata.Resource == "" || resp.StatusCode != http.StatusOK {
		return "", errors.Join(errors.New("no metadata"), err)
	}
	return metadata.Resource, nil
}

// wellKnown is the path of the metadata of an origin, and of those of a resource with its path appended, see RFC 9728, section 3.
const wellKnown = "/.well-known/oauth-protected-resource"

// ofOrigin reports whether metadata are at a well-known address of a server's origin, which the operator of the whole host controls.
func ofOrigin(place string, server *url.URL) bool {
	u, err := url.Parse(place)
	return err == nil && httpx.SameOrigin(u, server) && strings.HasPrefix(u.Path+"/", wellKnown+"/") && !strings.Contains(u.Path, "..")
}

// contains reports whether a server's address is the resource or below it.
func contains(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	return err == nil && httpx.SameOrigin(u, server) && strings.HasPrefix(strings.TrimSuffix(server.Path, "/")+"/", strings.TrimSuffix(u.Path, "/")+"/")
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
		TokenEndpointAuthMethod: "none", // other hosts do the same; a secret would expire, and servers do not always say how to send it
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
