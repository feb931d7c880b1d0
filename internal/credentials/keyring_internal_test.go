package credentials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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
	key := Credential{Type: TypeKey, Key: "secret7", Keyring: true, Metadata: map[string]string{MetadataResource: "r"}}
	err = s.Put(ctx, "provider/a", &key)
	before := file(t, s)
	if err = errors.Join(err, s.Put(ctx, "provider/a", &key)); err != nil || !strings.Contains(before, MetadataResource) || before == file(t, s) {
		t.Errorf("Put() of another key = %v; file %s, want a trace of it", err, before)
	}
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

// TestKeyringUnreachable: the user can sign out and in again without the keyring, and is warned of the entry that stays.
func TestKeyringUnreachable(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), File))
	r := &memoryRing{entries: map[string]string{}}
	s.ring = r
	var warned error
	s.Warn = func(err error) { warned = errors.Join(warned, err) }
	ctx := t.Context()
	stored := &Credential{Type: TypeKey, Key: "secret1", Keyring: true}
	if err := errors.Join(s.Put(ctx, "provider/a", stored), s.Put(ctx, "provider/b", stored)); err != nil || warned != nil {
		t.Fatal(err, warned)
	}
	r.locked = errors.New("locked")
	if err := s.Put(ctx, "provider/a", &Credential{Type: TypeKey, Key: "plain"}); err != nil || !errors.Is(warned, ErrLeftover) {
		t.Errorf("Put() = %v, warned %v", err, warned)
	}
	if c, err := s.Get("provider/a"); err != nil || c.Key != "plain" {
		t.Errorf("Get() = %+v, %v", c, err)
	}
	warned = nil
	if err := s.Delete(ctx, "provider/b"); err != nil || !errors.Is(warned, ErrLeftover) || strings.Contains(file(t, s), "provider/b") {
		t.Errorf("Delete() = %v, warned %v; file %s", err, warned, file(t, s))
	}
}

// TestKeyringAfterTheFile: an entry stays in the keyring if the file cannot be written.
func TestKeyringAfterTheFile(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), File))
	r := &memoryRing{entries: map[string]string{}}
	s.ring = r
	if err := s.Put(t.Context(), "a", &Credential{Type: TypeKey, Key: "secret1", Keyring: true}); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	err := s.update(t.Context(), func(c *content) error {
		s.remove(c, "a")
		return refused
	})
	if c, getErr := s.Get("a"); !errors.Is(err, refused) || getErr != nil || c.Key != "secret1" {
		t.Errorf("after %v: %+v, %v", err, c, getErr)
	}
}

// TestTooLargeForTheKeyring: a login is refused with the remedy, and a refreshed token is used by this process until it is replaced.
func TestTooLargeForTheKeyring(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), File))
	r := &memoryRing{entries: map[string]string{}}
	s.ring = r
	var warned error
	s.Warn = func(err error) { warned = err }
	ctx := t.Context()
	old := &Credential{Type: TypeOAuth, Access: "a0", Refresh: "r0", Expires: 1, Keyring: true}
	if err := s.Put(ctx, "a", old); err != nil {
		t.Fatal(err)
	}
	r.locked = keyring.ErrSetDataTooBig
	if err := s.Put(ctx, "b", old); !errors.Is(err, ErrKeyring) || !strings.Contains(err.Error(), "too large") || !strings.Contains(err.Error(), "without --keyring") {
		t.Errorf("Put() = %v", err)
	}
	s.ring = full{r}
	r.locked = nil
	for n, want := range []string{"r0", "r1"} {
		next := &Credential{Type: TypeOAuth, Access: want + "+", Refresh: "r1", Expires: 1}
		got, err := s.Refresh(ctx, "a", "", func(_ context.Context, c *Credential) (*Credential, error) {
			if c.Refresh != want {
				t.Errorf("refresh %d with %q, want %q", n, c.Refresh, want)
			}
			return next, nil
		})
		if err != nil || got.Access != next.Access || !errors.Is(warned, ErrNotStored) {
			t.Errorf("Refresh() = %+v, %v, warned %v", got, err, warned)
		}
	}
	if c, err := s.Get("a"); err != nil || c.Access != "r1+" {
		t.Errorf("Get() = %+v, %v, want the refreshed token", c, err)
	}
	s.ring = r
	if err := s.Put(ctx, "a", &Credential{Type: TypeKey, Key: "new"}); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Get("a"); err != nil || c.Key != "new" {
		t.Errorf("Get() = %+v, %v, want the new credential", c, err)
	}
}

// full is a keyring for smaller secrets.
type full struct{ *memoryRing }

func (full) Set(string, string, string) error { return keyring.ErrSetDataTooBig }

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

// silentRing is a keyring that does not answer, such as a locked one whose window is on another screen.
type silentRing struct {
	ring
	closed <-chan struct{}
}

func (r silentRing) Get(string, string) (string, error) {
	<-r.closed
	return "", keyring.ErrNotFound
}

// TestSilentKeyring: a keyring that does not answer is an error.
func TestSilentKeyring(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), File))
	s.ring = &memoryRing{entries: map[string]string{}}
	if err := s.Put(t.Context(), "provider/a", &Credential{Type: TypeKey, Key: "secret1", Keyring: true}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		defer close(closed)
		s.ring = silentRing{closed: closed}
		if c, err := s.Get("provider/a"); !errors.Is(err, ErrKeyring) || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("Get() = %+v, %v, want an error of the keyring", c, err)
		}
	})
}
