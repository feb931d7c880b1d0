package vertex_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tokens is Google's server of tokens and the metadata server of a machine. Every second token ends at once.
type tokens struct {
	*httptest.Server
	t      *testing.T
	key    *rsa.PrivateKey // of the service account
	issued int
}

func newTokens(t *testing.T) *tokens {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &tokens{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("grant_type") {
		case "urn:ietf:params:oauth:grant-type:jwt-bearer":
			s.checkAssertion(r.FormValue("assertion"))
		case "refresh_token":
			if r.FormValue("refresh_token") != "user-refresh" {
				t.Errorf("form %v", r.Form)
			}
		default:
			t.Errorf("form %v", r.Form)
		}
		s.issue(w)
	})
	mux.HandleFunc("GET /computeMetadata/v1/instance/service-accounts/default/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || !strings.Contains(r.FormValue("scopes"), "cloud-platform") {
			t.Errorf("request to the metadata server: %v %v", r.Header, r.Form)
		}
		s.issue(w)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *tokens) issue(w http.ResponseWriter) {
	s.issued++
	lifetime := 3600
	if s.issued%2 == 0 {
		lifetime = 1
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"token%d","token_type":"Bearer","expires_in":%d}`, s.issued, lifetime)
}

// checkAssertion checks the signature and the claims of a JWT, see RFC 7523.
func (s *tokens) checkAssertion(jwt string) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		s.t.Errorf("assertion %q", jwt)
		return
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err == nil {
		err = rsa.VerifyPKCS1v15(&s.key.PublicKey, crypto.SHA256, sum[:], signature)
	}
	var claims struct{ Iss, Aud, Scope string }
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if json.Unmarshal(payload, &claims) != nil || err != nil || claims.Iss != "tenon@p.example" || claims.Aud != s.URL+"/token" || !strings.Contains(claims.Scope, "cloud-platform") {
		s.t.Errorf("assertion %s: %v", payload, err)
	}
}

// setup stores the credentials, unless they are nil, and returns the address of a provider and what signs its requests in.
func setup(t *testing.T, credentials map[string]string) (address string, authorize func(*http.Request, []byte) error) {
	t.Helper()
	file := ""
	if credentials != nil {
		file = filepath.Join(t.TempDir(), "credentials.json")
		data, err := json.Marshal(credentials)
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	info := sdk.ProviderInfo{ID: "google-vertex", Options: sdk.Object{"project": "p"}}
	authorize, err := vertex.Setup(&info, wire.NewOptions(&info), "v1", "google", "us-central1")
	if err != nil {
		t.Fatal(err)
	}
	return info.BaseURL, authorize
}

// TestCredentials: Application Default Credentials of a service account, of a user and of a machine sign requests in. A token is used until it ends.
func TestCredentials(t *testing.T) {
	s := newTokens(t)
	key, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	account := map[string]string{
		"type": "service_account", "client_email": "tenon@p.example", "private_key_id": "1", "token_uri": s.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}
	user := map[string]string{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "user-refresh", "token_uri": s.URL + "/token"}
	for _, c := range []struct {
		name        string
		credentials map[string]string // nil: the machine's
	}{{"service account", account}, {"user", user}, {"machine", nil}} {
		t.Run(c.name, func(t *testing.T) {
			s.issued = 0
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("APPDATA", home)
			t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
			address, authorize := setup(t, c.credentials)
			sent := func() string {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := authorize(req, nil); err != nil {
					t.Fatal(err)
				}
				return req.Header.Get("Authorization")
			}
			if first, second := sent(), sent(); first != "Bearer token1" || second != first {
				t.Errorf("sent %q and %q, want one token twice", first, second)
			}
			_, authorize = setup(t, c.credentials)
			if first, second := sent(), sent(); first != "Bearer token2" || second != "Bearer token3" {
				t.Errorf("sent %q and %q, want another token after the end of the first", first, second)
			}
		})
	}
}

// TestTokenServerFails: the end of a request ends the wait for a token, and a server that fails is not taken for a refusal. Credentials are not
// sent past a proxy whose address is invalid.
func TestTokenServerFails(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	authorize := func(ctx context.Context, uri string) error {
		address, authorize := setup(t, map[string]string{
			"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": uri,
		})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return authorize(req, nil)
	}
	if err := authorize(t.Context(), server.URL+"/fails"); !oauth.Passing(err) {
		t.Errorf("a server that fails: %v, want an error that may pass", err)
	}
	t.Setenv("HTTPS_PROXY", "http://user:pa%ss@proxy.invalid")
	if err := authorize(t.Context(), "https://server.invalid"); !errors.Is(err, httpx.ErrProxyAddress) {
		t.Errorf("an invalid proxy: %v, want %v", err, httpx.ErrProxyAddress)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := authorize(ctx, server.URL+"/stalls"); !errors.Is(err, context.Canceled) {
		t.Errorf("a server without an answer: %v, want %v", err, context.Canceled)
	}
}
