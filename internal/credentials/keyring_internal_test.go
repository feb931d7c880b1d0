package credentials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zalando/go-keyring"
)

// memoryRing is a keyring in memory that can be locked.
type memoryRing struct {
	mu      sync.Mutex
	entries map[string]string
	locked  error
}

func (r *memoryRing) Get(service, user string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	secret, ok := r.entries[service+" "+user]
	if r.locked == nil && !ok {
		return "", keyring.ErrNotFound
	}
	return secret, r.locked
}

func (r *memoryRing) Set(service, user, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked == nil {
		r.entries[service+" "+user] = secret
	}
	return r.locked
}

func (r *memoryRing) Delete(service, user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, service+" "+user)
	return r.locked
}

// file returns the content of the store's file.
func file(t *testing.T, s *Store) string {
	t.Helper()
	data, err := os.ReadFile(s.Path())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// TestKeyring: secrets are in the keyring and nowhere else, a refresh keeps them there, and a locked keyring is an error.
func TestKeyring(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), File))
	r := &memoryRing{entries: map[string]string{}}
	s.ring = r
	ctx := t.Context()
	stored := &Credential{Type: TypeOAuth, Access: "secret1", Refresh: "secret2", Expires: 1, Keyring: true, Method: "m", Client: &Client{ID: "c", Secret: "secret3"}}
	if err := s.Put(ctx, "provider/a", stored); err != nil {
		t.Fatal(err)
	}
	if text := file(t, s); strings.Contains(text, "secret1") || strings.Contains(text, "secret2") || strings.Contains(text, "secret3") || !strings.Contains(text, `"keyring": true`) {
		t.Errorf("file %s, want no secret", text)
	}
	got, err := s.Get("provider/a")
	if err != nil || got.Access != "secret1" || got.Refresh != "secret2" || got.Client.Secret != "secret3" || got.Method != "m" {
		t.Errorf("Get() = %+v, %v", got, err)
	}
	if all, err := s.All(); err != nil || all["provider/a"].Secret() != "" || !all["provider/a"].Keyring {
		t.Errorf("All() = %+v, %v, want the entry without its secrets", all, err)
	}
	fresh, err := s.Refresh(ctx, "provider/a", "", func(_ context.Context, old *Credential) (*Credential, error) {
		if old.Refresh != "secret2" {
			t.Errorf("refreshed %+v", old)
		}
		return &Credential{Type: TypeOAuth, Access: "secret4", Refresh: "secret5"}, nil
	})
	if err != nil || fresh.Access != "secret4" || !fresh.Keyring || strings.Contains(file(t, s), "secret4") || len(r.entries) != 1 {
		t.Errorf("Refresh() = %+v, %v; file %s", fresh, err, file(t, s))
	}
	r.locked = errors.New("locked")
	if _, err := s.Get("provider/a"); !errors.Is(err, ErrKeyring) || !strings.Contains(err.Error(), "unlock it") {
		t.Errorf("Get() of a locked keyring = %v", err)
	}
	if err := s.Put(ctx, "provider/b", &Credential{Type: TypeKey, Key: "secret6", Keyring: true}); !errors.Is(err, ErrKeyring) || strings.Contains(file(t, s), "provider/b") {
		t.Errorf("Put() into a locked keyring = %v; file %s", err, file(t, s))
	}
	r.locked = nil
	if err := s.Put(ctx, "provider/a", &Credential{Type: TypeKey, Key: "plain"}); err != nil || len(r.entries) != 0 {
		t.Errorf("Put() over it = %v, %d entries left in the keyring", err, len(r.entries))
	}
	if err := errors.Join(s.Put(ctx, "provider/a", stored), s.Delete(ctx, "provider/a")); err != nil || len(r.entries) != 0 {
		t.Errorf("Delete() = %v, %d entries left in the keyring", err, len(r.entries))
	}
	r.entries[keyringService+" "+s.entry("provider/a")] = "{"
	if err := s.unlock("provider/a", &Credential{Keyring: true}); !errors.Is(err, ErrKeyring) || strings.Contains(err.Error(), "{") {
		t.Errorf("a damaged entry = %v", err)
	}
}

func FuzzUnlock(f *testing.F) {
	f.Add(`{"key": "k"}`)
	f.Add(`{"access": "a\n"}`)
	f.Fuzz(func(t *testing.T, secret string) {
		s := Open("x")
		s.ring = &memoryRing{entries: map[string]string{keyringService + " " + s.entry("n"): secret}}
		c := &Credential{Type: TypeKey, Keyring: true}
		if err := s.unlock("n", c); err == nil && strings.ContainsAny(c.Key, "\r\n\x00") {
			t.Errorf("secret %q gave the key %q", secret, c.Key)
		}
	})
}
