package source

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEnding: messages without end take no memory.
func TestEnding(t *testing.T) {
	t.Parallel()
	var e ending
	for range 100 {
		_, _ = e.Write([]byte(strings.Repeat("one of many messages\n", 1000)))
	}
	_, _ = e.Write([]byte("the cause"))
	if cap(e) > 64<<10 || !strings.HasSuffix(string(e), "\nthe cause") || len(e) < maxComplaint {
		t.Errorf("%d bytes, capacity %d", len(e), cap(e))
	}
}

// TestVersionsWithoutEnd: a registry that lists more versions than a package has is refused before they are compared.
func TestVersionsWithoutEnd(t *testing.T) {
	t.Parallel()
	many := `:{"1.0.0":{}` + strings.Repeat(`,"1.0.0":{}`, 200_000) + `}`
	for _, data := range []string{`{"versions"` + many + `}`, `{"Versions"` + many + `}`, `{"versions"` + many + `,"versions":{}}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(data)) }))
		t.Cleanup(server.Close)
		f, release := (&Fetcher{Cache: t.TempDir()}).connected()
		t.Cleanup(release)
		if err := f.resolveNPM(t.Context(), NPMRegistry{URL: server.URL}, Ref{Kind: NPM, URL: "p", Version: "1.0.0"}, &Fetched{}); err == nil {
			t.Errorf("no error for %.20s", data)
		}
	}
}

// TestMismatchHidesPassword: a registry's address, which the error about other content names, may contain a password.
func TestMismatchHidesPassword(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("other")) }))
	t.Cleanup(server.Close)
	f, release := (&Fetcher{Cache: t.TempDir()}).connected()
	t.Cleanup(release)
	address := strings.Replace(server.URL, "http://", "http://me:hunter2@", 1)
	_, _, err := f.download(t.Context(), address, address, strings.Repeat("0", 64), "")
	if !errors.Is(err, ErrMismatch) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("download = %v, want ErrMismatch without the password", err)
	}
}
