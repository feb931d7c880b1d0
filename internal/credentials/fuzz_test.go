package credentials_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/internal/credentials"
)

// FuzzStore reads a file of any content: every error has its kind, and what was read survives being written.
func FuzzStore(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"version": 1}`, `{"version": 2}`, `{"version": 1, "credentials": {"provider/a": {"type": "api", "key": "k"}}}`,
		`{"version": 1, "credentials": {"mcp/a": {"type": "oauth", "access": "a", "expires": 1e3, "client": {"id": "c"}}, "b": 5}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), credentials.File)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := credentials.Open(path)
		all, err := s.All()
		if err != nil && !errors.Is(err, credentials.ErrFile) {
			t.Fatalf("All() = %v, want ErrFile", err)
		}
		if all == nil {
			return
		}
		for name := range maps.Keys(all) {
			if err := s.Put(t.Context(), name, all[name]); err != nil {
				t.Fatalf("Put(%q) of what was read: %v", name, err)
			}
		}
		if again, _ := s.All(); !cmp.Equal(all, again, cmpopts.EquateEmpty()) {
			t.Errorf("after a write: %s", cmp.Diff(all, again))
		}
	})
}

// FuzzOpencode reads opencode's file: credentials can be sent, and hold no refresh token.
func FuzzOpencode(f *testing.F) {
	for _, seed := range []string{opencodeFile, "{}", "null", `{"a": {"type": "oauth", "access": "x", "expires": 1e300}}`, `{"a": {"type": "api", "key": "\n"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := credentials.Opencode("", func(string) string { return text }, time.UnixMilli(0))
		if err != nil && !errors.Is(err, credentials.ErrFile) {
			t.Fatalf("Opencode() = %v, want ErrFile", err)
		}
		for id, c := range all {
			if c.Secret() == "" || c.Refresh != "" {
				t.Errorf("credential of %q: %+v", id, c)
			}
		}
	})
}
