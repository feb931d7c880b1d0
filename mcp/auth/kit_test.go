package auth_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/mcp/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
