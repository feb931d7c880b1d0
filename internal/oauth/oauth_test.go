package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/oauth"
)

func client(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// Requests to the listener that do not belong to the sign-in do not end it.
func TestStrayRequests(t *testing.T) {
	t.Parallel()
	r, err := oauth.Listen(t.Context(), "http://127.0.0.1:0/callback")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(t.Context()) })
	base := strings.TrimSuffix(r.URL, "/callback")
	values, err := r.Answer(t.Context(), "https://a.example/authorize?state=s1", func(ctx context.Context, _ string) (string, error) {
		for path, want := range map[string]int{
			"/favicon.ico": 404, "/callback?state=other&code=evil": 200, "/callback": 200, "/callback/x?state=s1&code=evil": 404,
		} {
			got, page := request(ctx, t, http.MethodGet, base+path)
			if got != want || got == 200 && !strings.Contains(page, "If tenon still waits") {
				t.Errorf("%s = status %d, %q, want %d", path, got, page, want)
			}
		}
		if got, _ := request(ctx, t, http.MethodPost, base+"/callback?state=s1&code=evil"); got != http.StatusNotFound {
			t.Errorf("POST = status %d, want 404", got)
		}
		request(ctx, t, http.MethodGet, base+"/callback?state=s1&code=good")
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err != nil || values.Get("code") != "good" {
		t.Errorf("Answer() = %v, %v, want the code of this sign-in", values, err)
	}
}

func request(ctx context.Context, t *testing.T, method, address string) (status int, page string) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp, err := client(t).Do(req)
	if err != nil {
		return 0, "" // the sign-in ended meanwhile
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "http://example.com:1/x", "https://127.0.0.1:1/x", "http://0.0.0.0:0/x", "http://127.0.0.1/x", "http://10.0.0.1:1/"} {
		if r, err := oauth.Listen(t.Context(), address); err == nil {
			t.Errorf("Listen(%q) = %s, want an error", address, r.URL)
			_ = r.Close(t.Context())
		}
	}
	taken, err := oauth.Listen(t.Context(), "http://127.0.0.1:0/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close(t.Context()) })
	if _, err := oauth.Listen(t.Context(), taken.URL); err == nil || !strings.Contains(err.Error(), "listen for the answer") {
		t.Errorf("Listen() on a taken port = %v, want an error", err)
	}
}

// The user can end a sign-in that no browser answers.
func TestCanceledAnswer(t *testing.T) {
	t.Parallel()
	closed := errors.New("closed")
	var none *oauth.Redirect
	if _, err := none.Answer(t.Context(), "https://a.example/?state=x", func(context.Context, string) (string, error) { return "", closed }); !errors.Is(err, closed) {
		t.Errorf("Answer() = %v, want the error of the user's part", err)
	}
}

// A server cannot fill the user's terminal with its address.
func TestLongAddress(t *testing.T) {
	t.Parallel()
	var none *oauth.Redirect
	_, err := none.Answer(t.Context(), "https://a.example/?state=x&pad="+strings.Repeat("a", 1<<20), func(context.Context, string) (string, error) {
		t.Error("the address is shown")
		return "", errors.New("closed")
	})
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("Answer() = %.300v, want a short error", err)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		contentType string
		body        string
		want        oauth.Token // without Expires
		expires     bool
		err         string
	}{
		"token":         {200, "application/json", `{"access_token": "a", "refresh_token": "r", "expires_in": 60, "token_type": "bearer", "scope": "x y"}`, oauth.Token{Access: "a", Refresh: "r"}, true, ""},
		"text number":   {200, "application/json", `{"access_token": "a", "expires_in": "60"}`, oauth.Token{Access: "a"}, true, ""},
		"huge number":   {200, "application/json", `{"access_token": "a", "expires_in": 1e300}`, oauth.Token{Access: "a"}, false, ""},
		"negative":      {200, "application/json", `{"access_token": "a", "expires_in": -5}`, oauth.Token{Access: "a"}, false, ""},
		"error in 200":  {200, "application/json", `{"error": "invalid_grant", "error_description": "gone\u001b[1m"}`, oauth.Token{}, false, "invalid_grant: gone"},
		"error":         {400, "application/json", `{"error": "invalid_grant"}`, oauth.Token{}, false, "invalid_grant"},
		"nested error":  {401, "application/json", `{"error": {"code": "token_expired"}}`, oauth.Token{}, false, "token_expired"},
		"plain error":   {502, "text/html", `<h1>`, oauth.Token{}, false, "status 502"},
		"no token":      {200, "application/json", `{}`, oauth.Token{}, false, "no access_token"},
		"no object":     {200, "application/json", `[]`, oauth.Token{}, false, "neither a token"},
		"another kind":  {200, "application/json", `{"access_token": "a", "token_type": "mac"}`, oauth.Token{}, false, "want Bearer"},
		"too large":     {200, "application/json", strings.Repeat(" ", 2<<20), oauth.Token{}, false, "too large"},
		"invalid token": {200, "application/json", `{"access_token": 5}`, oauth.Token{}, false, "no access_token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := r.ParseForm(); err != nil || r.Form.Get("client_id") != "c" || r.Form.Get("grant_type") != "g" {
					t.Errorf("form %v, %v", r.Form, err)
				}
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			t.Cleanup(server.Close)
			e := oauth.Endpoint{HTTP: client(t), URL: server.URL, ClientID: "c"}
			got, err := e.Request(t.Context(), url.Values{"grant_type": {"g"}})
			if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\x1b")) {
				t.Fatalf("Request() = %v, want %q", err, c.err)
			}
			if err != nil {
				return
			}
			if (got.Expires != 0) != c.expires {
				t.Errorf("expires %d, want %v", got.Expires, c.expires)
			}
			got.Expires = 0
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("Request() (-want +got):\n%s", diff)
			}
		})
	}
}

// silent never answers.
type silent struct{}

func (silent) Do(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	for want, timeout := range map[string]time.Duration{"did not answer within 30s": 0, "did not answer within 8s": 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			e := oauth.Endpoint{HTTP: silent{}, URL: "https://a.example/token", Timeout: timeout}
			if _, err := e.Request(t.Context(), url.Values{}); err == nil || !strings.Contains(err.Error(), want) || !oauth.Passing(err) {
				t.Errorf("Request() = %v, want %q, which passes", err, want)
			}
		})
	}
}

// The error of a server that cannot be reached names its host, and passes.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	_, err := oauth.Post(t.Context(), client(t), server.URL+"/some/path", url.Values{})
	if err == nil || !strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "/some/path") || !oauth.Passing(err) {
		t.Errorf("Post() = %v, want an error that passes and names %s without the path", err, host)
	}
}

// A server that is busy does not end a sign-in: the same token can be refreshed later.
func TestPassing(t *testing.T) {
	t.Parallel()
	for err, want := range map[oauth.Error]bool{
		{Status: 503}: true, {Status: 200}: true, {Status: 429}: true, {Status: 429, Code: oauth.CodeSlowDown}: false, {Status: 400, Code: oauth.CodeInvalidGrant}: false,
	} {
		if got := oauth.Passing(&err); got != want {
			t.Errorf("Passing(%+v) = %v, want %v", err, got, want)
		}
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	pending, slow := &oauth.Error{Code: oauth.CodePending}, &oauth.Error{Code: oauth.CodeSlowDown}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		answers []error // of the server; nil is the token
		waits   []time.Duration
		want    error
	}{
		"confirmed":         {[]error{pending, nil}, []time.Duration{5 * time.Second, 5 * time.Second}, nil},
		"slow down":         {[]error{slow, pending, nil}, []time.Duration{5 * time.Second, 10 * time.Second, 10 * time.Second}, nil},
		"slow down, named":  {[]error{&oauth.Error{Code: oauth.CodeSlowDown, Interval: 20}, nil}, []time.Duration{5 * time.Second, 20 * time.Second}, nil},
		"denied":            {[]error{&oauth.Error{Code: oauth.CodeDenied}}, []time.Duration{5 * time.Second}, oauth.ErrDenied},
		"expired":           {[]error{&oauth.Error{Code: oauth.CodeExpired}}, []time.Duration{5 * time.Second}, oauth.ErrExpired},
		"server is down":    {[]error{&oauth.Error{Status: 502}, pending, nil}, []time.Duration{5 * time.Second, 10 * time.Second, 10 * time.Second}, nil},
		"network is down":   {[]error{&url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, nil}, []time.Duration{5 * time.Second, 10 * time.Second}, nil},
		"answer breaks off": {[]error{fmt.Errorf("after 5 bytes: %w", io.ErrUnexpectedEOF), nil}, []time.Duration{5 * time.Second, 10 * time.Second}, nil},
		"end of its life":   {[]error{slow, slow, slow, slow}, []time.Duration{5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second}, oauth.ErrExpired},
		"broken":            {[]error{broken}, []time.Duration{5 * time.Second}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var waits []time.Duration
				last := time.Now()
				token, err := oauth.Poll(t.Context(), 5*time.Second, time.Minute, func(context.Context) (*oauth.Token, error) {
					waits, last = append(waits, time.Since(last)), time.Now()
					if err := c.answers[len(waits)-1]; err != nil {
						return nil, err
					}
					return &oauth.Token{Access: "a"}, nil
				})
				if !errors.Is(err, c.want) || (c.want == nil) != (token != nil) {
					t.Errorf("Poll() = %v, %v, want %v", token, err, c.want)
				}
				if diff := cmp.Diff(c.waits, waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := oauth.Poll(ctx, time.Hour, 2*time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Poll() = %v, want the end of the context", err)
	}
}

// FuzzAnswer decodes answers of any content.
func FuzzAnswer(f *testing.F) {
	f.Add("application/json", `{"access_token": "a", "expires_in": 5}`)
	f.Add("", "[")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		resp := httptest.NewRecorder()
		resp.Header()["Content-Type"] = []string{contentType}
		resp.Body.WriteString(body)
		http := &http.Client{Transport: answering{resp.Result()}}
		token, err := (&oauth.Endpoint{HTTP: http, URL: "http://a.example"}).Request(t.Context(), url.Values{})
		if err == nil && (token.Access == "" || token.Expires < 0) {
			t.Errorf("token %+v without an error", token)
		}
	})
}

// answering is a transport with one answer.
type answering struct{ resp *http.Response }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.resp, nil }
