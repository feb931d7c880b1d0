// Package authtest is an MCP server that requires sign-in, with its authorization server, over real HTTP.
package authtest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Service is an MCP server that requires sign-in, and its authorization server. Refresh tokens are accepted once.
type Service struct {
	*httptest.Server
	t testing.TB

	// Change these before the first request, or in Change.
	Needs    []string          // scopes that a request requires
	Named    []string          // scopes in the challenge
	Rest     string            // rest of the challenge
	Lifetime int               // lifetime of access tokens in seconds
	Iss      string            // issuer in answers, if not empty
	Silent   bool              // the metadata does not announce Iss
	Document bool              // the ID of a client may be the address of its metadata
	Deny     bool              // the user refuses
	Forget   bool              // the server forgets its codes
	Down     bool              // the token endpoint answers with 503
	Withheld string            // scope that is never granted
	Clients  map[string]string // secret by ID
	Methods  []string          // how clients may authenticate, in the metadata
	Accepted string            // the only method for a secret; empty: all
	Resource string            // path of the resource that the metadata describe; /mcp by default
	Issuer   string            // path of the authorization server's name
	Terse    bool              // answers to registrations contain nothing but the client's ID
	Secrets  bool              // clients without a secret are refused
	Free     bool              // clients register without scopes and may request any; else those that they registered with
	Scopes   []string          // scopes of each authorization, sorted
	MCP      http.Handler      // the server behind the sign-in; by default its only answer is "welcome"

	mu     sync.Mutex
	grants map[string]grant    // by code, access token or refresh token
	scopes map[string][]string // those that clients were registered with, by ID
	counts map[string]int      // of requests, by the authorization server's endpoint
	issued int                 // number of the last code or token
}

// grant is what a code or token stands for.
type grant struct{ client, challenge, redirect, scope, resource string }

// New starts a service, which ends with the test.
func New(t testing.TB) *Service {
	t.Helper()
	s := &Service{
		t: t, Resource: "/mcp", Lifetime: 3600, Methods: []string{"none", "client_secret_basic"}, Clients: map[string]string{},
		grants: map[string]grant{}, counts: map[string]int{}, scopes: map[string][]string{},
		MCP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") }),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.mcp)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, http.StatusOK, map[string]any{"resource": s.URL + s.Resource, "authorization_servers": []string{s.URL + s.Issuer}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, http.StatusOK, map[string]any{
			"issuer": s.URL + s.Issuer, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": s.Methods,
			"authorization_response_iss_parameter_supported": s.Iss != "" && !s.Silent, "client_id_metadata_document_supported": s.Document,
		})
	})
	mux.HandleFunc("/register", s.register)
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/token", s.token)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *Service) json(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

// note counts a request and locks the service.
func (s *Service) note(what string) func() {
	s.mu.Lock()
	s.counts[what]++
	return s.mu.Unlock
}

// issue returns a new code or token for a grant.
func (s *Service) issue(kind string, g grant) string {
	s.issued++
	token := fmt.Sprintf("%s-%d", kind, s.issued)
	s.grants[token] = g
	return token
}

// Count returns the number of requests to an endpoint.
func (s *Service) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

func (s *Service) mcp(w http.ResponseWriter, r *http.Request) {
	if s.admit(w, r) {
		s.mu.Lock()
		server := s.MCP
		s.mu.Unlock()
		server.ServeHTTP(w, r)
	}
}

// admit reports whether a request has a token with the scopes it requires, and answers it otherwise.
func (s *Service) admit(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, known := s.grants[token]
	if !known {
		challenge := "Bearer"
		if s.Named != nil {
			challenge += fmt.Sprintf(" scope=%q", strings.Join(s.Named, " "))
		}
		w.Header().Set("WWW-Authenticate", challenge+s.Rest)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	for _, scope := range s.Needs {
		if !slices.Contains(strings.Fields(g.scope), scope) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q", "insufficient_scope", scope))
			w.WriteHeader(http.StatusForbidden)
			return false
		}
	}
	return true
}

func (s *Service) register(w http.ResponseWriter, r *http.Request) {
	defer s.note("register")()
	var client map[string]any
	if err := json.NewDecoder(r.Body).Decode(&client); err != nil || client["client_name"] != "tenon" {
		s.t.Errorf("registration of %v, %v", client, err)
	}
	if s.Secrets && client["token_endpoint_auth_method"] == "none" || s.Free && client["scope"] != nil {
		s.json(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
		return
	}
	id, secret := fmt.Sprintf("client-%d", len(s.Clients)), ""
	if client["token_endpoint_auth_method"] != "none" {
		secret = "secret-of-" + id
		client["client_secret"] = secret
	}
	s.Clients[id] = secret
	text, _ := client["scope"].(string)
	s.scopes[id] = strings.Fields(text)
	client["client_id"] = id
	if s.Terse {
		client = map[string]any{"client_id": id, "client_secret": nil, "token_endpoint_auth_method": ""}
	}
	s.json(w, http.StatusCreated, client) // like the official SDK for TypeScript, return what was sent, without defaults
}

func (s *Service) authorize(w http.ResponseWriter, r *http.Request) {
	defer s.note("authorize")()
	q := r.URL.Query()
	if _, known := s.Clients[q.Get("client_id")]; !known || q.Get("code_challenge_method") != "S256" || q.Get("resource") != s.URL+s.Resource {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	scopes := strings.Fields(q.Get("scope"))
	slices.Sort(scopes)
	s.Scopes = append(s.Scopes, strings.Join(scopes, " "))
	answer := url.Values{"state": {q.Get("state")}}
	if s.Iss != "" {
		answer.Set("iss", s.Iss)
	}
	if registered, dynamic := s.scopes[q.Get("client_id")]; dynamic && !s.Free && !slices.Equal(slices.Sorted(slices.Values(registered)), scopes) {
		answer.Set("error", "invalid_scope")
	} else if s.Deny {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "not\x1b[31m you")
	} else {
		g := grant{q.Get("client_id"), q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("scope"), q.Get("resource")}
		answer.Set("code", s.issue("code", g))
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *Service) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	defer s.note(r.Form.Get("grant_type"))()
	if s.Down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	client, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	method := "client_secret_post"
	if user, password, ok := r.BasicAuth(); ok { // both are encoded as in a form, see RFC 6749, section 2.3.1
		client, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
		method = "client_secret_basic"
	}
	if s.Accepted != "" && s.Accepted != method {
		s.json(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	once := r.Form.Get("code") + r.Form.Get("refresh_token") // one of the two
	g, ok := s.grants[once]
	delete(s.grants, once)
	if r.Form.Get("grant_type") == "authorization_code" {
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		g.scope = strings.TrimSpace(strings.ReplaceAll(" "+g.scope+" ", " "+s.Withheld+" ", " "))
		ok = ok && !s.Forget && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && g.redirect == r.Form.Get("redirect_uri")
	}
	if want, known := s.Clients[client]; !ok || !known || secret != want || g.client != client || g.resource != r.Form.Get("resource") {
		s.json(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "unknown"})
		return
	}
	s.json(w, http.StatusOK, map[string]any{
		"access_token": s.issue("access", g), "refresh_token": s.issue("refresh", g), "token_type": "Bearer", "expires_in": s.Lifetime, "scope": g.scope,
	})
}

// Revoke ends all access tokens.
func (s *Service) Revoke() {
	s.Change(func() {
		maps.DeleteFunc(s.grants, func(token string, _ grant) bool { return strings.HasPrefix(token, "access-") })
	})
}

// RevokeAll ends all tokens.
func (s *Service) RevokeAll() { s.Change(func() { clear(s.grants) }) }

// Change calls f, which may change the fields of the service.
func (s *Service) Change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Address returns the address of the MCP server.
func (s *Service) Address() string { return s.URL + "/mcp" }

// Browser is a user's browser: it opens the address and follows redirects.
func Browser(t testing.TB) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		transport := &http.Transport{DisableKeepAlives: true}
		client := &http.Client{Transport: transport}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("the browser got status %d", resp.StatusCode)
				t.Error(err)
				return "", err
			}
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
}
