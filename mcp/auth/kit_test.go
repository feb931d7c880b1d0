package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/mcp/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is an MCP server that requires sign-in, and its authorization server. Refresh tokens are accepted once.
type service struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	needs     []string // scopes a request requires
	named     []string // scopes in the challenge
	lifetime  int      // of access tokens, in seconds
	iss       string   // in answers, if not empty
	deny      bool
	forget    bool              // codes are forgotten
	withheld  string            // scope that is never granted
	clients   map[string]string // secret by ID
	codes     map[string]grant
	access    map[string]grant
	refreshes map[string]grant
	log       []string // of the authorization server's endpoints
	scopes    []string // of each authorization, sorted
}

// grant is what a code or token stands for.
type grant struct{ client, challenge, redirect, scope, resource string }

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{
		t: t, lifetime: 3600, clients: map[string]string{}, codes: map[string]grant{}, access: map[string]grant{}, refreshes: map[string]grant{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.mcp)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, http.StatusOK, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, http.StatusOK, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
			"authorization_response_iss_parameter_supported": s.iss != "",
		})
	})
	mux.HandleFunc("/register", s.register)
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/token", s.token)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *service) json(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

// note logs a request and locks the service.
func (s *service) note(what string) func() {
	s.mu.Lock()
	s.log = append(s.log, what)
	return s.mu.Unlock
}

// count returns the number of requests to an endpoint.
func (s *service) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.log {
		if one == what {
			n++
		}
	}
	return n
}

func (s *service) mcp(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, known := s.access[token]
	if !known {
		challenge := "Bearer"
		if s.named != nil {
			challenge += fmt.Sprintf(" scope=%q", strings.Join(s.named, " "))
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, scope := range s.needs {
		if !slices.Contains(strings.Fields(g.scope), scope) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q", "insufficient_scope", scope))
			w.WriteHeader(http.StatusForbidden)
			return
		}
	}
	fmt.Fprint(w, "welcome")
}

func (s *service) register(w http.ResponseWriter, r *http.Request) {
	defer s.note("register")()
	var metadata struct {
		RedirectURIs []string `json:"redirect_uris"`
		Name         string   `json:"client_name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&metadata); err != nil || metadata.Name != "tenon" || len(metadata.RedirectURIs) != 1 {
		s.t.Errorf("registration of %+v, %v", metadata, err)
	}
	id := fmt.Sprintf("client-%d", len(s.clients))
	s.clients[id] = ""
	s.json(w, http.StatusCreated, map[string]any{"client_id": id, "token_endpoint_auth_method": "none", "redirect_uris": metadata.RedirectURIs})
}

func (s *service) authorize(w http.ResponseWriter, r *http.Request) {
	defer s.note("authorize")()
	q := r.URL.Query()
	if _, known := s.clients[q.Get("client_id")]; !known || q.Get("code_challenge_method") != "S256" || q.Get("resource") != s.URL+"/mcp" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	scopes := strings.Fields(q.Get("scope"))
	slices.Sort(scopes)
	s.scopes = append(s.scopes, strings.Join(scopes, " "))
	answer := url.Values{"state": {q.Get("state")}}
	if s.iss != "" {
		answer.Set("iss", s.iss)
	}
	if s.deny {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "not\x1b[31m you")
	} else {
		code := fmt.Sprintf("code-%d", len(s.log))
		s.codes[code] = grant{q.Get("client_id"), q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("scope"), q.Get("resource")}
		answer.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *service) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	defer s.note(r.Form.Get("grant_type"))()
	client, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok { // both are encoded as in a form, see RFC 6749, section 2.3.1
		client, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	var g grant
	var ok bool
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		g, ok = s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		g.scope = strings.TrimSpace(strings.ReplaceAll(" "+g.scope+" ", " "+s.withheld+" ", " "))
		ok = ok && !s.forget && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && g.redirect == r.Form.Get("redirect_uri")
	case "refresh_token":
		g, ok = s.refreshes[r.Form.Get("refresh_token")]
		delete(s.refreshes, r.Form.Get("refresh_token"))
	}
	if want, known := s.clients[client]; !ok || !known || secret != want || g.client != client || g.resource != r.Form.Get("resource") {
		s.json(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "unknown"})
		return
	}
	n := len(s.log)
	access, refresh := fmt.Sprintf("access-%d", n), fmt.Sprintf("refresh-%d", n)
	s.access[access], s.refreshes[refresh] = g, g
	s.json(w, http.StatusOK, map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": s.lifetime, "scope": g.scope,
	})
}

// revoke ends all access tokens.
func (s *service) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access = map[string]grant{}
}

// browser is a user's browser: it opens the address and follows redirects.
func browser(t *testing.T) func(context.Context, string) (string, error) {
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
				t.Errorf("the browser got status %d", resp.StatusCode)
			}
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
}

func store(t *testing.T) *credentials.Store {
	t.Helper()
	return credentials.Open(filepath.Join(t.TempDir(), credentials.File))
}

func authorizer(t *testing.T, o auth.Options) *auth.Authorizer {
	t.Helper()
	o.Server = "docs"
	return auth.New(o)
}

// call calls a server and, if that requires sign-in, signs the user in and calls it again.
func call(t *testing.T, a *auth.Authorizer, address string, visit oauth.Visit) (string, error) {
	t.Helper()
	text, err := request(t, a, address)
	if visit == nil || !errors.As(err, new(*auth.SignInError)) {
		return text, err
	}
	if err := a.SignIn(t.Context(), visit); err != nil {
		return "", err
	}
	return request(t, a, address)
}

// request sends one request in the way of the transport, and returns the text of the server.
func request(t *testing.T, a *auth.Authorizer, address string) (string, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	for again := true; ; again = false {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Authorize(req); err != nil {
			return "", err
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK {
			return string(text), nil
		}
		retry := false
		if again {
			retry, err = a.Challenged(t.Context(), req, resp)
		}
		if !retry {
			if err == nil {
				err = fmt.Errorf("status %d", resp.StatusCode)
			}
			return "", err
		}
	}
}
