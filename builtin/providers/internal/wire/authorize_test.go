package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// A sign-in that the server refuses in the middle of a turn is renewed, and the request sent once more. The user's key is not sent.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	gone := errors.New("signed out")
	for name, c := range map[string]struct {
		tokens   []string // of the attempts
		err      error    // of the second attempt
		requests int
		want     string
	}{
		"accepted":          {tokens: []string{"good"}, requests: 1},
		"renewed":           {tokens: []string{"old", "good"}, requests: 2},
		"refused once more": {tokens: []string{"old", "older"}, requests: 2, want: "unauthorized"},
		"signed out":        {tokens: []string{"old"}, err: gone, requests: 1, want: "signed out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if strings.Contains(r.Header.Get("Authorization"), "key") {
					t.Error("the key was sent")
				}
				if r.Header.Get("Authorization") != "Bearer good" || r.Header.Get("X-Account") != "1" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				fmt.Fprint(w, `{"data":[]}`)
			}))
			t.Cleanup(server.Close)
			attempt := 0
			info := sdk.ProviderInfo{ID: "p", BaseURL: server.URL, Key: "key", Authorize: func(_ context.Context, refused map[string]string) (map[string]string, error) {
				if (attempt == 0) != (refused == nil) || refused != nil && refused["Authorization"] != "Bearer old" {
					t.Errorf("attempt %d after %v", attempt, refused)
				}
				if attempt == 1 && c.err != nil {
					return nil, c.err
				}
				attempt++
				return map[string]string{"Authorization": "Bearer " + c.tokens[attempt-1], "X-Account": "1"}, nil
			}}
			transport := NewTransport()
			t.Cleanup(transport.CloseIdleConnections)
			conn, err := Open(Setup{Info: info, Options: NewOptions(&info), Transport: transport, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = List(t.Context(), conn, "models", "data", func(*struct{}) sdk.Model { return sdk.Model{} })
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("List() = %v, want %q", err, c.want)
			}
			var refused *sdk.ProviderError
			if err != nil && (!errors.As(err, &refused) || refused.StatusCode != http.StatusUnauthorized) {
				t.Errorf("List() = %v, want status 401", err)
			}
			if requests != c.requests {
				t.Errorf("%d requests, want %d", requests, c.requests)
			}
		})
	}
}

// TestAuthorizeWithoutNetwork: a token that cannot be refreshed because the network or its server is down says nothing of the sign-in, so the
// host tries again.
func TestAuthorizeWithoutNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, down := http.Post(server.URL, "", nil)
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"network": {down, 0}, "server": {&oauth.Error{Status: 503}, 0}, "refused": {&oauth.Error{Status: 400, Code: oauth.CodeInvalidGrant}, 401},
	} {
		info := sdk.ProviderInfo{ID: "p", BaseURL: server.URL, Authorize: func(context.Context, map[string]string) (map[string]string, error) {
			return nil, fmt.Errorf("refresh: %w", c.err)
		}}
		conn, err := Open(Setup{Info: info, Options: NewOptions(&info), Transport: NewTransport(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = List(t.Context(), conn, "models", "data", func(*struct{}) sdk.Model { return sdk.Model{} })
		var failed *sdk.ProviderError
		if !errors.As(err, &failed) || failed.StatusCode != c.status || !strings.Contains(failed.Message, "credentials: refresh: ") || strings.Contains(err.Error(), "status 401") {
			t.Errorf("%s: %v, want status %d", name, err, c.status)
		}
	}
}

// TestSignedSecrets: what signs a single request in does not appear in the error of a server that repeats it.
func TestSignedSecrets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Amz-Security-Token"))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": {"message": "not valid: %s %s"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Amz-Security-Token"))
	}))
	t.Cleanup(server.Close)
	headers := map[string]string{"Authorization": "Bearer of-one-request", "X-Amz-Security-Token": "of-one-session"}
	info := sdk.ProviderInfo{ID: "p", BaseURL: server.URL}
	byProvider := info
	byProvider.Authorize = func(context.Context, map[string]string) (map[string]string, error) { return headers, nil }
	for name, setup := range map[string]Setup{
		"by the provider": {Info: byProvider},
		"by the format": {Info: info, Authorize: func(req *http.Request, _ []byte) error {
			for name, value := range headers {
				req.Header.Set(name, value)
			}
			return nil
		}},
	} {
		transport := NewTransport()
		t.Cleanup(transport.CloseIdleConnections)
		setup.Options, setup.Transport, setup.Log = NewOptions(&info), transport, slog.New(slog.DiscardHandler)
		conn, err := Open(setup)
		if err != nil {
			t.Fatal(err)
		}
		_, err = List(t.Context(), conn, "models", "data", func(*struct{}) sdk.Model { return sdk.Model{} })
		var refused *sdk.ProviderError
		if !errors.As(err, &refused) || !strings.Contains(refused.Message, "not valid: ") || refused.Headers["x-echo"] != "***" {
			t.Fatalf("%s: List = %v, want a refusal with headers", name, err)
		}
		if text := fmt.Sprintf("%s %+v", err, *refused); strings.Contains(text, "of-one-") {
			t.Errorf("%s: the error contains a secret: %s", name, text)
		}
	}
}
