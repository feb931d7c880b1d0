package source

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMismatchHidesPassword: a registry's address, which the error about other content names, may contain a password.
func TestMismatchHidesPassword(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("other")) }))
	t.Cleanup(server.Close)
	f := &Fetcher{Cache: t.TempDir()}
	address := strings.Replace(server.URL, "http://", "http://me:hunter2@", 1)
	_, _, err := f.download(t.Context(), address, address, strings.Repeat("0", 64), "")
	if !errors.Is(err, ErrMismatch) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("download = %v, want ErrMismatch without the password", err)
	}
}
