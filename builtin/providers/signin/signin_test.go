package signin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == cliArgument {
		os.Exit(azureCLI(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// user is the user of a test. Browse is the browser.
type user struct {
	mu      sync.Mutex
	notices []string
	code    string
	browse  func(ctx context.Context, address string) (string, error)
}

func (u *user) Notice(text string) { u.notices = append(u.notices, text) }

func (u *user) Code(address, code string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.code = address + " " + code
}

func (u *user) Visit(ctx context.Context, address string) (string, error) {
	return u.browse(ctx, address)
}

// provider is an authorization server with a device flow. It refuses requests that come too early, with slow_down. As an oauth.Doer it
// answers without a network, so that waits in a bubble of synctest take no time.
type provider struct {
	*http.ServeMux
	mu        sync.Mutex
	polled    time.Time // of the last request for the token
	interval  time.Duration
	answers   []string // error codes before the token; "slow" raises the interval
	refreshes map[string]bool
	issued    int
}

func newProvider(t *testing.T, answers ...string) *provider {
	t.Helper()
	mux := http.NewServeMux()
	p := &provider{ServeMux: mux, polled: time.Now(), interval: 5 * time.Second, answers: answers, refreshes: map[string]bool{}}
	mux.HandleFunc("POST /login/device/code", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("scope") != "read:user" || r.FormValue("client_id") == "" {
			t.Errorf("form %v", r.Form)
		}
		reply(w, 200, map[string]any{"device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://github.example/device", "interval": 5, "expires_in": 900})
	})
	mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
		if code := p.poll(); r.FormValue("device_code") != "dc" || code != "" {
			reply(w, 200, map[string]any{"error": code, "interval": p.interval.Seconds()}) // GitHub answers errors with 200
			return
		}
		reply(w, 200, map[string]any{"access_token": "gho", "token_type": "bearer", "scope": "read:user"})
	})
	mux.HandleFunc("POST /oauth2/device/code", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("scope") != xaiScope || r.FormValue("client_id") == "" {
			t.Errorf("form %v", r.Form)
		}
		reply(w, 200, map[string]any{"device_code": "dc", "user_code": "GR-OK", "verification_uri": "https://x.example/d", "verification_uri_complete": "https://x.example/d?c=GR-OK", "interval": 5, "expires_in": 900})
	})
	mux.HandleFunc("POST /oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") == "refresh_token" {
			p.token(w, r)
		} else if code := p.poll(); r.FormValue("device_code") != "dc" || code != "" {
			reply(w, 400, map[string]any{"error": code})
		} else {
			p.token(w, &http.Request{Form: url.Values{"code": {"code"}, "code_verifier": {"none"}}})
		}
	})
	mux.HandleFunc("POST /api/accounts/deviceauth/usercode", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ClientID string `json:"client_id"`
		}
		if kind := r.Header.Get("Content-Type"); kind != "application/json" || json.NewDecoder(r.Body).Decode(&body) != nil || body.ClientID == "" {
			t.Errorf("a code was requested for %q with %s", body.ClientID, kind)
		}
		reply(w, 200, map[string]any{"user_code": "XY-12", "device_auth_id": "da", "interval": "5"})
	})
	mux.HandleFunc("POST /api/accounts/deviceauth/token", func(w http.ResponseWriter, _ *http.Request) {
		if p.poll() != "" {
			reply(w, http.StatusForbidden, map[string]any{"error": map[string]any{"code": "deviceauth_authorization_unknown"}})
			return
		}
		reply(w, 200, map[string]any{"authorization_code": "code", "code_verifier": "v"})
	})
	mux.HandleFunc("GET /oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		for name, want := range map[string]string{"code_challenge_method": "S256", "id_token_add_organizations": "true", "codex_cli_simplified_flow": "true", "originator": "tenon"} {
			if q.Get(name) != want {
				t.Errorf("%s = %q, want %q", name, q.Get(name), want)
			}
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"code"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) { p.token(w, r) })
	return p
}

// Do answers a request.
func (p *provider) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, req)
	return w.Result(), nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// poll returns the next error code.
func (p *provider) poll() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	early := time.Since(p.polled) < p.interval
	p.polled = time.Now()
	switch {
	case early:
		p.interval += 5 * time.Second
		return "slow_down"
	case len(p.answers) == 0:
		return ""
	}
	code := p.answers[0]
	p.answers = p.answers[1:]
	if code == "slow_down" {
		p.interval += 5 * time.Second
	}
	return code
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := r.FormValue("refresh_token"); r.FormValue("grant_type") == "refresh_token" {
		if !p.refreshes[old] {
			reply(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		delete(p.refreshes, old) // single use
	} else if r.FormValue("code") != "code" || r.FormValue("code_verifier") == "" {
		reply(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	p.issued++
	refresh := fmt.Sprintf("rt%d", p.issued)
	p.refreshes[refresh] = true
	reply(w, 200, map[string]any{
		"access_token": fmt.Sprintf("at%d", p.issued), "refresh_token": refresh, "expires_in": 3600,
		"id_token": "x." + base64.RawURLEncoding.EncodeToString([]byte(`{"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}}`)) + ".y",
	})
}

func TestDeviceCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		want    error
	}{
		"confirmed": {[]string{"authorization_pending", "authorization_pending"}, nil},
		"slow down": {[]string{"slow_down", "authorization_pending"}, nil},
		"denied":    {[]string{"authorization_pending", "access_denied"}, oauth.ErrDenied},
		"expired":   {[]string{"expired_token"}, oauth.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, c.answers...)
				copilot := newCopilot(p, "https://p.example")
				u := &user{}
				token, err := copilot.login(t.Context(), sdk.Object{}, u)
				if !errors.Is(err, c.want) {
					t.Fatalf("login() = %v, want %v", err, c.want)
				}
				if u.code != "https://github.example/device AB-CD" || len(u.notices) != 1 || !strings.Contains(u.notices[0], "opencode") {
					t.Errorf("shown: %q, %q, want the code and whose client is used", u.code, u.notices)
				}
				if c.want == nil && (token.Access != "gho" || token.Expires != 0) {
					t.Errorf("token %+v", token)
				}
				if limit := 15 * time.Second; c.want == nil && p.interval > limit {
					t.Errorf("the client polled too early: interval %s", p.interval)
				}
			})
		})
	}
}

func TestXAI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testXAI)
}

func testXAI(t *testing.T) {
	p := newProvider(t, "authorization_pending", "slow_down", "authorization_pending")
	x := newXAI(p, "https://p.example", "https://api.example/v1")
	u := &user{}
	token, err := x.device(t.Context(), sdk.Object{}, u)
	if err != nil || token.Access != "at1" || u.code != "https://x.example/d?c=GR-OK GR-OK" || len(u.notices) != 1 || !strings.Contains(u.notices[0], "Grok CLI") {
		t.Fatalf("device() = %+v, %v; shown %q, %q", token, err, u.code, u.notices)
	}
	if left := time.Until(time.UnixMilli(token.Expires)); left < 50*time.Minute || left > time.Hour-xaiMargin {
		t.Errorf("the token of an hour ends in %s, want two minutes earlier", left)
	}
	info := &sdk.ProviderInfo{BaseURL: "https://elsewhere.example"}
	if x.apply(info, token); info.BaseURL != "https://api.example/v1" {
		t.Errorf("address %s, want that of xAI", info.BaseURL)
	}
	if m := (&sdk.Model{Cost: sdk.ModelCost{Input: 1}}); !info.Plan(m) || m.Cost.Input != 0 {
		t.Errorf("Plan() set %+v, want every model without a price", m)
	}
	second, err := x.refresh(t.Context(), sdk.Object{}, token)
	if err != nil || second.Access != "at2" || second.Refresh != "rt2" {
		t.Fatalf("refresh() = %+v, %v", second, err)
	}
	var refused *oauth.Error
	if _, err := x.refresh(t.Context(), sdk.Object{}, token); !errors.As(err, &refused) || refused.Code != oauth.CodeInvalidGrant {
		t.Errorf("a refresh token that was used = %v, want invalid_grant", err)
	}
	jwt := "x." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp": 2000000000}`)) + ".y"
	early := &sdk.Token{Access: jwt}
	endEarly(early, nil, nil)
	if got, want := early.Expires, int64(2_000_000_000_000)-xaiMargin.Milliseconds(); got != want {
		t.Errorf("end by the JWT %d, want %d", got, want)
	}
}

// A server cannot fill the user's terminal with its code or address.
func TestLongCode(t *testing.T) {
	t.Parallel()
	for _, long := range []string{"user_code", "verification_uri"} {
		answer := map[string]any{"device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://x.example/d", "interval": 5}
		answer[long] = strings.Repeat("a", 100_000)
		p := &provider{ServeMux: http.NewServeMux()}
		p.HandleFunc("POST /oauth2/device/code", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, answer) })
		p.HandleFunc("POST /oauth2/token", func(w http.ResponseWriter, _ *http.Request) { reply(w, 400, map[string]any{"error": "access_denied"}) })
		synctest.Test(t, func(t *testing.T) {
			u := &user{}
			if _, err := newXAI(p, "https://p.example", "").device(t.Context(), sdk.Object{}, u); err == nil || u.code != "" {
				t.Errorf("%s: device() = %v; %d bytes are shown", long, err, len(u.code))
			}
		})
	}
}

func TestOwnClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &user{}
		copilot := newCopilot(newProvider(t), "https://github.example")
		token, err := copilot.login(t.Context(), sdk.Object{"clientId": "mine", "enterpriseUrl": "https://p.example/"}, u)
		if err != nil || len(u.notices) != 0 {
			t.Fatalf("login() = %v with notices %q, want none about another program's client", err, u.notices)
		}
		var info sdk.ProviderInfo
		if applyCopilot(&info, token); info.Options["enterpriseUrl"] != "https://p.example/" {
			t.Errorf("options %v, want the address that the user signed in at", info.Options)
		}
	})
}

func TestChatGPT(t *testing.T) {
	t.Parallel()
	t.Run("browser", func(t *testing.T) {
		t.Parallel()
		testChatGPT(t, false)
	})
	t.Run("device", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { testChatGPT(t, true) })
	})
}

// Codex and another tenon listen at the same port. The error names another way.
func TestChatGPTPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newChatGPT(nil, "https://p.example", "http://"+l.Addr().String()+"/auth/callback", "https://api.example")
	if _, err := c.browser(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "choose the method with a code") {
		t.Errorf("browser() = %v, want a remedy", err)
	}
}

func testChatGPT(t *testing.T, device bool) {
	t.Helper()
	p := newProvider(t, "authorization_pending", "authorization_pending")
	c := newChatGPT(p, "https://p.example", "http://localhost:0/auth/callback", "https://api.example")
	u := &user{browse: func(ctx context.Context, address string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return "", err
		}
		redirect, err := p.Do(req)
		if err != nil {
			return "", err
		}
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, redirect.Header.Get("Location"), nil); err != nil {
			return "", err
		}
		if resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req); err == nil {
			_ = resp.Body.Close()
		}
		<-ctx.Done()
		return "", ctx.Err()
	}}
	login := c.browser
	if device {
		login = c.code
	}
	token, err := login(t.Context(), sdk.Object{}, u)
	if err != nil {
		t.Fatal(err)
	}
	if device && u.code != c.issuer+"/codex/device XY-12" {
		t.Errorf("shown %q", u.code)
	}
	want := map[string]string{"Authorization": "Bearer at1", "ChatGPT-Account-Id": "acc", "originator": "tenon"}
	headers, err := c.headers(t.Context(), token)
	if diff := cmp.Diff(want, headers); diff != "" || err != nil {
		t.Errorf("headers (-want +got): %v\n%s", err, diff)
	}
	info := &sdk.ProviderInfo{BaseURL: "https://api.openai.com/v1"}
	if c.apply(info, token); info.BaseURL != "https://api.example" {
		t.Errorf("provider %+v", info)
	}
	for id, want := range map[string]bool{
		"gpt-5.4": true, "gpt-5.5": true, "gpt-6-luna": true, "gpt-5.3-codex-spark": true,
		"gpt-5.4-pro": false, "gpt-5.4-nano": false, "gpt-5.3-codex": false, "gpt-4o": false, "o3": false,
	} {
		m := &sdk.Model{APIID: id, Cost: sdk.ModelCost{Input: 1}, Limit: sdk.ModelLimit{Context: 1_050_000, Input: 922_000}}
		if got := info.Plan(m); got != want || m.Cost.Input != 0 || m.Limit.Context != 400_000 || m.Limit.Input != 272_000 {
			t.Errorf("Plan(%s) = %v, %+v, want %v", id, got, m, want)
		}
	}
	if small := (&sdk.Model{Limit: sdk.ModelLimit{Context: 128_000}}); info.Plan(small) || small.Limit.Context != 128_000 {
		t.Errorf("limit %+v, want the model's own", small.Limit)
	}
	second, err := c.refresh(t.Context(), sdk.Object{}, token)
	if err != nil || second.Access != "at2" || second.Refresh != "rt2" || second.Metadata[charged] != "acc" {
		t.Fatalf("refresh() = %+v, %v", second, err)
	}
	var refused *oauth.Error
	if _, err := c.refresh(t.Context(), sdk.Object{}, token); !errors.As(err, &refused) || refused.Code != oauth.CodeInvalidGrant {
		t.Errorf("a refresh token that was used = %v, want invalid_grant", err)
	}
}

// A workspace whose data must stay in a region refuses requests that do not name it.
func TestResidency(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		`{"chatgpt_compute_residency": "us"}`: "us", `{"chatgpt_data_residency": "eu", "chatgpt_compute_residency": "us"}`: "eu",
		`{"chatgpt_data_residency": "no_constraint"}`: "", `{"chatgpt_data_residency": "a\nb"}`: "", `{}`: "",
		`{"chatgpt_data_residency": "eu", "chatgpt_account_id": 1}`: "", // a claim of another type invalidates all claims
	} {
		jwt := "x." + base64.RawURLEncoding.EncodeToString([]byte(`{"https://api.openai.com/auth": `+claims+`}`)) + ".y"
		headers, err := (*chatgpt)(nil).headers(t.Context(), &sdk.Token{Access: jwt})
		if got := headers["x-openai-internal-codex-residency"]; got != want || err != nil {
			t.Errorf("%s: residency %q, %v, want %q", claims, got, err, want)
		}
	}
}

func FuzzAccount(f *testing.F) {
	f.Add("x." + base64.RawURLEncoding.EncodeToString([]byte(`{"organizations": [{"id": "o"}]}`)) + ".y")
	f.Add("..")
	f.Fuzz(func(t *testing.T, jwt string) {
		if end := claimsOf(jwt).expires(); end < 0 {
			t.Errorf("end %d", end)
		}
		if id := accountOf(jwt); strings.ContainsAny(id, "\r\n\x00 ") {
			t.Errorf("account %q cannot be a header", id)
		}
	})
}
