package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// tokens is an Authorizer with a list of tokens: a challenge takes the next one.
type tokens struct {
	list       []string
	challenges atomic.Int32
	err        error
}

func (a *tokens) Authorize(req *http.Request) error {
	if n := int(a.challenges.Load()); n < len(a.list) {
		req.Header.Set("Authorization", "Bearer "+a.list[n])
	}
	return nil
}

func (a *tokens) Challenged(context.Context, *http.Request, *http.Response) (bool, error) {
	a.challenges.Add(1)
	return a.err == nil, a.err
}

// An Authorizer signs each request in; a request that is refused is sent once more, with its whole body.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	cancelled := errors.New("the user closed the browser")
	tests := map[string]struct {
		authorizer *tokens
		requests   int32
		want       error
	}{
		"signed in":          {&tokens{list: []string{"good"}}, 1, nil},
		"a new token":        {&tokens{list: []string{"old", "good"}}, 2, nil},
		"refused once more":  {&tokens{list: []string{"old", "older", "good"}}, 2, new(AuthError)},
		"no new token":       {&tokens{list: []string{"old"}, err: cancelled}, 1, cancelled},
		"nothing to sign in": {nil, 1, new(AuthError)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if body, _ := io.ReadAll(r.Body); string(body) != "hello" {
					t.Errorf("body = %q", body)
				}
				if r.Header.Get("Authorization") != "Bearer good" {
					http.Error(w, "who are you?", http.StatusUnauthorized)
				}
			}))
			defer server.Close()
			remote := &Remote{URL: server.URL}
			if test.authorizer != nil {
				remote.Authorizer = test.authorizer
			}
			web := newWeb(remote, nil)
			defer web.inner.CloseIdleConnections()
			resp, err := web.client.Post(server.URL, "text/plain", strings.NewReader("hello"))
			if err == nil {
				_ = resp.Body.Close()
			}
			var refused *AuthError
			switch {
			case test.want == nil && err != nil:
				t.Error(err)
			case test.want != nil && (!errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || !strings.Contains(refused.Body, "who are you?")):
				t.Errorf("error = %v, want an AuthError with the server's text", err)
			case errors.Is(test.want, cancelled) && !errors.Is(err, cancelled):
				t.Errorf("error = %v, want %v in it", err, cancelled)
			}
			if requests.Load() != test.requests {
				t.Errorf("%d requests, want %d", requests.Load(), test.requests)
			}
		})
	}
}
