package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/mcp/auth/authtest"
)

// The command that an error names can be run, whatever the server's name is.
func TestSignInErrorQuotesName(t *testing.T) {
	t.Parallel()
	err := &auth.SignInError{Server: "my docs"}
	if want := "not signed in; run: tenon mcp login 'my docs'"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// The user signs in once; the next process uses the stored token.
func TestSignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config   auth.Config
		setUp    func(*authtest.Service)
		register int
		scope    string
	}{
		"dynamic registration":  {register: 1},
		"scopes of the server":  {setUp: func(s *authtest.Service) { s.Named = []string{"read", "write"} }, register: 1, scope: "read write"},
		"scopes of the user":    {config: auth.Config{Scope: "mine"}, setUp: func(s *authtest.Service) { s.Named = []string{"read"} }, register: 1, scope: "mine"},
		"the user's client":     {config: auth.Config{ClientID: "own"}, setUp: func(s *authtest.Service) { s.Clients["own"] = "" }},
		"the user's secret":     {config: auth.Config{ClientID: "own", ClientSecret: "a b:c"}, setUp: func(s *authtest.Service) { s.Clients["own"] = "a b:c" }},
		"the server's own name": {setUp: func(s *authtest.Service) { s.Iss = s.URL }, register: 1},
		"a name, unannounced":   {setUp: func(s *authtest.Service) { s.Iss, s.Silent = s.URL, true }, register: 1},
		"document, not known":   {config: auth.Config{ClientID: "https://tenon.example/client.json"}, register: 1},
		"document":              {config: auth.Config{ClientID: "https://tenon.example/client.json"}, setUp: func(s *authtest.Service) { s.Document, s.Clients["https://tenon.example/client.json"] = true, "" }},
		"IDs in the body only":  {setUp: func(s *authtest.Service) { s.Accepted = "client_secret_post" }, register: 1},
		"terse registration":    {setUp: func(s *authtest.Service) { s.Accepted, s.Terse = "client_secret_post", true }, register: 1},
		"clients have secrets":  {setUp: func(s *authtest.Service) { s.Secrets = true }, register: 2},
		"secrets and scopes":    {setUp: func(s *authtest.Service) { s.Named, s.Secrets = []string{"read"}, true }, register: 2, scope: "read"},
		"no scopes of clients":  {setUp: func(s *authtest.Service) { s.Named, s.Free = []string{"read"}, true }, register: 3, scope: "read"},
		"of a whole origin":     {setUp: func(s *authtest.Service) { s.Resource = "" }, register: 1},
		"of an origin's root":   {setUp: func(s *authtest.Service) { s.Resource = "/" }, register: 1},
		"issuer with a slash":   {setUp: func(s *authtest.Service) { s.Issuer = "/" }, register: 1},
		"with a slash":          {setUp: func(s *authtest.Service) { s.Resource = "/mcp/" }, register: 1},
		"of a shared host":      {setUp: func(s *authtest.Service) { hostile(s, "/evil/metadata") }, register: 1},
		"of a host, by a detour": {setUp: func(s *authtest.Service) {
			hostile(s, "/.well-known/oauth-protected-resource/../../evil/metadata")
		}, register: 1},
		"of a neighbor": {setUp: func(s *authtest.Service) {
			instead(s, "/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprintf(w, `{"error": "Not Found", "resource": %q}`, r.URL.Path)
			})
			instead(s, "/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"resource": "%[1]s/other", "authorization_servers": ["%[1]s/other"]}`, s.URL)
			})
		}, register: 1},
		"of an origin, where the challenge says": {setUp: func(s *authtest.Service) {
			s.Resource = ""
			hostile(s, "/.well-known/oauth-protected-resource/x")
			instead(s, "/.well-known/oauth-protected-resource/mcp", http.NotFound)
		}, register: 1},
		"localhost": {config: auth.Config{RedirectURI: "http://localhost/x/y"}, register: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, kept := authtest.New(t), store(t)
			if c.setUp != nil {
				c.setUp(s)
			}
			o := auth.Options{URL: s.Address(), Config: c.config, Store: kept}
			if _, err := call(t, authorizer(t, o), o.URL, nil); !errors.As(err, new(*auth.SignInError)) || !strings.Contains(err.Error(), "tenon mcp login docs") {
				t.Fatalf("without a user: %v, want a SignInError with the command", err)
			}
			if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); text != "welcome" {
				t.Fatalf("answer %q, %v", text, err)
			}
			if text, err := call(t, authorizer(t, o), o.URL, nil); text != "welcome" {
				t.Errorf("answer to the next process %q, %v", text, err)
			}
			if n := s.Count("register"); n != c.register {
				t.Errorf("%d registrations, want %d", n, c.register)
			}
			if diff := cmp.Diff([]string{c.scope}, s.Scopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			_, token, err := authorizer(t, o).Stored()
			if err != nil {
				t.Fatal(err)
			}
			if client := token.Client; client.Issuer != s.URL+s.Issuer || client.Resource != s.URL+"/mcp" || client.Audience != s.URL+s.Resource {
				t.Errorf("stored %+v, want the issuer and the resource", client)
			}
		})
	}
}

// hostile makes the challenge name metadata at an address of the server's own, which describe the whole origin.
func hostile(s *authtest.Service, place string) {
	s.Rest = fmt.Sprintf(" resource_metadata=%q", s.URL+place)
	instead(s, place, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"resource": %[1]q, "authorization_servers": [%[1]q]}`, s.URL)
	})
}

// instead makes f answer the requests for a path.
func instead(s *authtest.Service, path string, f http.HandlerFunc) {
	service := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			f(w, r)
			return
		}
		service.ServeHTTP(w, r)
	})
}

// Without a browser the user enters the address that it was sent to.
func TestEnteredRedirect(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	transport := &http.Transport{DisableKeepAlives: true}
	entered := func(change func(string) string) oauth.Visit {
		return func(ctx context.Context, address string) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return "", err
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return "", err
			}
			_ = resp.Body.Close()
			return change(resp.Header.Get("Location")), nil
		}
	}
	same := func(s string) string { return s }
	for name, c := range map[string]struct {
		redirect string
		change   func(string) string
		want     string
	}{
		"loopback":         {"", same, ""},
		"another machine":  {"https://example.com/back", same, ""},
		"spaces":           {"", func(s string) string { return "  " + s + "\n" }, ""},
		"another sign-in":  {"", func(s string) string { return strings.Replace(s, "state=", "state=x", 1) }, "another sign-in"},
		"only a word":      {"", func(string) string { return "yes" }, "want the whole address"},
		"without the code": {"", func(s string) string { return strings.Replace(s, "code=", "nocode=", 1) }, "has no code"},
		"a refusal":        {"", func(s string) string { return strings.Replace(s, "code=", "error=access_denied&code=", 1) }, "access_denied"},
	} {
		o := auth.Options{URL: s.Address(), Store: store(t), Config: auth.Config{RedirectURI: c.redirect}}
		text, err := call(t, authorizer(t, o), o.URL, entered(c.change))
		if (c.want == "") != (text == "welcome") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: answer %q, %v, want %q", name, text, err, c.want)
		}
	}
}

func TestRefusedSignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setUp func(*authtest.Service)
		want  string
	}{
		"the user refuses":    {func(s *authtest.Service) { s.Deny = true }, "access_denied: not"},
		"of another issuer":   {func(s *authtest.Service) { s.Iss = "https://evil.example" }, "does not match"},
		"not announced":       {func(s *authtest.Service) { s.Iss, s.Silent = "https://evil.example", true }, "does not match"},
		"of another server":   {func(s *authtest.Service) { s.Resource = "/mc" }, "/mc, another server"},
		"the code is refused": {func(s *authtest.Service) { s.Forget = true }, "invalid_grant"},
		"a long page": {func(s *authtest.Service) {
			instead(s, "/register", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(w, strings.Repeat("<p>down\x1b[31m</p>", 1<<14))
			})
		}, "502 Bad Gateway: <p>down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, kept := authtest.New(t), store(t)
			c.setUp(s)
			o := auth.Options{URL: s.Address(), Store: kept}
			_, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 2<<10 {
				t.Errorf("error = %.2000v, want %q", err, c.want)
			}
			if all, err := kept.All(); len(all) > 0 || err != nil {
				t.Errorf("stored %v, %v, want nothing", all, err)
			}
		})
	}
}

// signedIn returns options with a stored token.
func signedIn(t *testing.T, s *authtest.Service) auth.Options {
	t.Helper()
	o := auth.Options{URL: s.Address(), Store: store(t)}
	if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); text != "welcome" {
		t.Fatalf("sign-in: %q, %v", text, err)
	}
	return o
}

// expire sets the end of the stored token to the past.
func expire(t *testing.T, o auth.Options) {
	t.Helper()
	name, token, err := authorizer(t, o).Stored()
	if err != nil {
		t.Fatal(err)
	}
	token.Expires = 1
	if err := o.Store.Put(t.Context(), name, token); err != nil {
		t.Fatal(err)
	}
}

// An expired token is refreshed once, however many need it; the server accepts a refresh token once.
func TestExpired(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	o := signedIn(t, s)
	expire(t, o)
	var running sync.WaitGroup
	for range 12 {
		running.Go(func() { // ends with the call; waited for below
			if text, err := call(t, authorizer(t, o), o.URL, nil); text != "welcome" {
				t.Errorf("answer %q, %v", text, err)
			}
		})
	}
	running.Wait()
	if n := s.Count("refresh_token"); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
}

// A refresh authenticates the client in the form that the server accepts, even if its metadata does not say which.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods  []string
		accepted string
		requests int // of two refreshes
	}{
		"basic, named":     {[]string{"client_secret_basic"}, "client_secret_basic", 2},
		"post, named":      {[]string{"client_secret_post"}, "client_secret_post", 2},
		"basic, not named": {nil, "client_secret_basic", 2},
		"post, not named":  {nil, "client_secret_post", 3}, // found out once
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authtest.New(t)
			s.Clients["own"], s.Methods, s.Accepted = "a b:c", c.methods, c.accepted
			o := auth.Options{URL: s.Address(), Store: store(t), Config: auth.Config{ClientID: "own", ClientSecret: "a b:c"}}
			if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); text != "welcome" {
				t.Fatalf("sign-in: %q, %v", text, err)
			}
			for range 2 {
				expire(t, o)
				if text, err := call(t, authorizer(t, o), o.URL, nil); text != "welcome" {
					t.Fatalf("after the refresh: %q, %v", text, err)
				}
			}
			if n := s.Count("refresh_token"); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

// A token that the server ends early is refreshed in the middle of a turn.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	o := signedIn(t, s)
	var hidden []string
	o.Hide = func(secrets []string) { hidden = append(hidden, secrets...) }
	a := authorizer(t, o)
	for range 3 {
		s.Revoke()
		if text, err := call(t, a, o.URL, nil); text != "welcome" {
			t.Fatalf("answer %q, %v", text, err)
		}
	}
	if n := s.Count("refresh_token"); n != 3 {
		t.Errorf("%d refreshes, want 3", n)
	}
	_, token, err := a.Stored()
	if err != nil || !slices.Contains(hidden, token.Access) || !slices.Contains(hidden, token.Refresh) {
		t.Errorf("hidden %q, want the refreshed token; %v", hidden, err)
	}
	s.RevokeAll()
	_, err = call(t, a, o.URL, nil)
	var required *auth.SignInError
	if !errors.As(err, &required) || !strings.Contains(err.Error(), "could not be refreshed: ") || !strings.Contains(err.Error(), "tenon mcp login docs") {
		t.Errorf("without a refresh token: %v, want a SignInError", err)
	}
	expire(t, o)
	if _, err = call(t, authorizer(t, o), o.URL, nil); !errors.As(err, &required) || !strings.Contains(err.Error(), "could not be refreshed: the authorization server refused: ") {
		t.Errorf("with an expired token: %v, want a SignInError with the reason", err)
	}
	if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); text != "welcome" {
		t.Errorf("after signing in again: %q, %v", text, err)
	}
}

// A challenge that cannot be read hinders neither the sign-in nor a refresh.
func TestMalformedChallenge(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	s.Rest = ` realm="docs" error="invalid_token"`
	o := signedIn(t, s)
	s.Revoke()
	if text, err := call(t, authorizer(t, o), o.URL, nil); text != "welcome" {
		t.Errorf("after the token was revoked: %q, %v", text, err)
	}
}

// A server that requires more scopes names them. The next sign-in requests them in addition to those granted.
func TestStepUp(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]bool{"in the same process": true, "in the next one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authtest.New(t)
			s.Named = []string{"read"}
			o := signedIn(t, s)
			s.Change(func() { s.Needs = []string{"write"} })
			if !same {
				_, err := call(t, authorizer(t, o), o.URL, nil)
				var required *auth.SignInError
				if !errors.As(err, &required) || !cmp.Equal(required.Scopes, []string{"write"}) {
					t.Fatalf("error = %v, want a SignInError that names the scope", err)
				}
				o.Fresh = true
			}
			if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); text != "welcome" {
				t.Fatalf("answer %q, %v", text, err)
			}
			if diff := cmp.Diff([]string{"read", "read write"}, s.Scopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			all, err := o.Store.All()
			if len(all) != 1 || err != nil {
				t.Errorf("%d tokens, %v, want the new one alone", len(all), err)
			}
		})
	}
}

// Scopes that the server requires of many requests at the same time are all remembered.
func TestManyStepUps(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	o := signedIn(t, s)
	var running sync.WaitGroup
	for n := range 12 {
		running.Go(func() { // ends with the call; waited for below
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL, nil)
			if err != nil {
				t.Error(err)
				return
			}
			refusal := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{
				"Www-Authenticate": {fmt.Sprintf("Bearer error=%q, scope=%q", "insufficient_scope", fmt.Sprintf("scope-%d", n))},
			}}
			if _, err := authorizer(t, o).Challenged(t.Context(), req, refusal); !errors.As(err, new(*auth.SignInError)) {
				t.Errorf("Challenged() = %v, want a SignInError", err)
			}
		})
	}
	running.Wait()
	if _, token, err := authorizer(t, o).Stored(); err != nil || len(token.Client.Wanted) != 12 {
		t.Errorf("stored %+v, %v, want 12 scopes", token, err)
	}
}

// A server that is never satisfied asks the user once for each request.
func TestNeverSatisfied(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	s.Withheld = "more"
	o := signedIn(t, s)
	s.Change(func() { s.Needs = []string{"more"} })
	if text, err := call(t, authorizer(t, o), o.URL, authtest.Browser(t)); err == nil {
		t.Errorf("answer %q, want an error", text)
	}
	if n := s.Count("authorize"); n != 2 {
		t.Errorf("%d sign-ins, want 2: the first one and one for the request", n)
	}
}

// A token is used only by the definition, client and server that the user signed in for.
func TestOtherDefinitions(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	o := signedIn(t, s)
	s.Change(func() { s.Clients["own"] = "" })
	for name, change := range map[string]func(*auth.Options){
		"a project's":    func(o *auth.Options) { o.Definition = "abc" },
		"another client": func(o *auth.Options) { o.Config.ClientID = "own" },
		"another server": func(o *auth.Options) { o.URL = s.URL + "/other" },
		"another origin": func(o *auth.Options) { o.URL = strings.Replace(o.URL, "127.0.0.1", "localhost", 1) },
		"switched off":   func(o *auth.Options) { o.Config.Off = true; o.Definition = "x" },
		"not signed in":  func(o *auth.Options) { o.Store = store(t) },
		"signs in again": func(o *auth.Options) { o.Fresh = true },
	} {
		other := o
		change(&other)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, other.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := authorizer(t, other).Authorize(req); err != nil || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: header %q, %v, want none", name, req.Header.Get("Authorization"), err)
		}
	}
	for _, same := range []string{s.URL + "/mcp/", strings.Replace(s.URL, "http://", "HTTP://", 1) + "/mcp"} {
		other := o
		other.URL = same
		if _, _, err := authorizer(t, other).Stored(); err != nil {
			t.Errorf("%s: %v, want the token", same, err)
		}
	}
}

// The user's own header is left alone, and other refusals are not answered with a sign-in.
func TestNotForUs(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	a := authorizer(t, signedIn(t, s))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer mine")
	if err := a.Authorize(req); err != nil || req.Header.Get("Authorization") != "Bearer mine" {
		t.Errorf("header %q, %v", req.Header.Get("Authorization"), err)
	}
	forbidden := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	if retry, err := a.Challenged(t.Context(), req, forbidden); retry || err != nil {
		t.Errorf("Challenged() of a plain 403 = %v, %v, want no retry", retry, err)
	}
}

// A store that cannot be read is reported, not taken for "not signed in".
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	s := authtest.New(t)
	o := signedIn(t, s)
	if err := o.Store.Put(t.Context(), "provider/x", &credentials.Credential{Type: credentials.TypeKey, Key: "k"}); err != nil {
		t.Fatal(err)
	}
	damage(t, o.Store.Path())
	if _, err := call(t, authorizer(t, o), o.URL, nil); !errors.Is(err, credentials.ErrFile) {
		t.Errorf("error = %v, want ErrFile", err)
	}
}

func TestParseConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		``:      auth.Config{},
		`null`:  auth.Config{},
		`{}`:    auth.Config{},
		`false`: auth.Config{Off: true},
		`{"clientId": "a", "clientSecret": "b", "scope": "c d", "callbackPort": 1234, "redirectUri": "http://localhost:1234/x"}`: auth.Config{
			ClientID: "a", ClientSecret: "b", Scope: "c d", CallbackPort: 1234, RedirectURI: "http://localhost:1234/x",
		},
		`true`:                           "oauth: want an object, have true",
		`{"clientid": "a"}`:              `oauth: clientid: unknown key; did you mean "clientId"?`,
		`{"callbackPort": "1"}`:          "oauth: callbackPort: want a number, have a string",
		`{"callbackPort": 65536}`:        "65536: want 1 to 65535",
		`{"clientSecret": "b"}`:          "requires oauth.clientId",
		`{"redirectUri": "x"}`:           "want an absolute URL",
		`{"redirectUri": "http://a/#x"}`: "without a fragment",
		`{"redirectUri": "http://127.0.0.1:1/x", "callbackPort": 2}`: "differs from the port",
	} {
		got, err := auth.ParseConfig(json.RawMessage(text))
		if problem, bad := want.(string); bad {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("ParseConfig(%s) = %v, want %q", text, err, problem)
			}
			continue
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("ParseConfig(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// damage cuts a file in half.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, content[:len(content)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
