package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
)

// A keyring that cannot be reached is an error; the key is not stored in the file instead.
func TestKeyringIsNoFallback(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	p.env = append(p.env[:len(p.env)-1], s.config(""), "DBUS_SESSION_BUS_ADDRESS=unix:path=/no/such/socket")
	out := p.typed(t, 1, "good-key\n", "auth", "login", "mine", "--keyring")
	if !strings.Contains(out, "keyring") || !strings.Contains(out, "without --keyring") || strings.Contains(out, "good-key") {
		t.Errorf("login: %s, want the keyring and the remedy", out)
	}
	if data, err := os.ReadFile(filepath.Join(p.dataDir(), credentials.File)); err == nil && strings.Contains(string(data), "good-key") {
		t.Errorf("file %s", data)
	}
	put(t, filepath.Join(p.dataDir(), credentials.File), `{"version": 1, "credentials": {"provider/mine": {"type": "api", "keyring": true}}}`)
	must(t, os.Chmod(filepath.Join(p.dataDir(), credentials.File), 0o600))
	if out := p.typed(t, 6, "", "doctor"); !strings.Contains(out, "keyring did not return provider/mine") {
		t.Errorf("doctor: %s, want the keyring", out)
	}
	if len(s.keys) != 0 {
		t.Errorf("the server got %q without a key", s.keys)
	}
}
