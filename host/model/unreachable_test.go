package model

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// A server whose certificate cannot be verified, or that does not speak TLS, counts as not reached: the address or the system's
// certificates are wrong.
func TestUnreachableWithoutTrust(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, url := range []string{untrusted.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_, err = http.DefaultClient.Do(req)
		if err == nil || !Unreachable(&sdk.ProviderError{Err: err}) {
			t.Errorf("%s: %v counts as an answer", url, err)
		}
	}
}
