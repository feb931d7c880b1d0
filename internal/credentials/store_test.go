package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/credentials"
)

func key(text string) *credentials.Credential {
	return &credentials.Credential{Type: credentials.TypeKey, Key: text}
}

func token(access string, expires int64) *credentials.Credential {
	return &credentials.Credential{Type: credentials.TypeOAuth, Access: access, Refresh: "refresh of " + access, Expires: expires}
}

func open(t *testing.T) *credentials.Store {
	t.Helper()
	return credentials.Open(filepath.Join(t.TempDir(), "data", credentials.File))
}

// TestLink: a link in place of the file stays, and its target is written; if the target's directory is missing, nothing is.
func TestLink(t *testing.T) {
	t.Parallel()
	kept, dir := filepath.Join(t.TempDir(), "kept"), t.TempDir()
	path := filepath.Join(dir, credentials.File)
	if err := os.Symlink(filepath.Join(kept, "secrets.json"), path); err != nil {
		t.Fatal(err)
	}
	s := credentials.Open(path)
	if err := s.Put(t.Context(), "provider/a", key("k")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Put() without the directory = %v, want %v", err, os.ErrNotExist)
	}
	if err := errors.Join(os.Mkdir(kept, 0o700), s.Put(t.Context(), "provider/a", key("k"))); err != nil {
		t.Fatal(err)
	}
	if c, err := credentials.Open(filepath.Join(kept, "secrets.json")).Get("provider/a"); err != nil || c.Key != "k" {
		t.Errorf("the target of the link has %v, %v, want the key", c, err)
	}
	other := credentials.Open(filepath.Join(t.TempDir(), credentials.File))
	if err := os.Symlink(filepath.Join(kept, "secrets.json"), other.Path()); err != nil {
		t.Fatal(err)
	}
	err := s.Change(t.Context(), "provider/a", func(*credentials.Credential) { // holds the lock
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := other.Put(ctx, "provider/b", key("b")); !errors.Is(err, credentials.ErrLocked) {
			t.Errorf("Put() through another link during a change = %v, want ErrLocked", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNoLockAtTarget: a token is refreshed even if no lock can be created beside the target of a link, such as on a read-only disk.
func TestNoLockAtTarget(t *testing.T) {
	t.Parallel()
	s := open(t)
	target := filepath.Join(t.TempDir(), strings.Repeat("k", 252)) // the name of a lock would be too long
	if err := errors.Join(s.Put(t.Context(), "provider/a", token("old", 1)), os.Rename(s.Path(), target), os.Symlink(target, s.Path())); err != nil {
		t.Fatal(err)
	}
	c, err := s.Refresh(t.Context(), "provider/a", "", func(context.Context, *credentials.Credential) (*credentials.Credential, error) {
		return token("new", 0), nil
	})
	if err != nil || c.Access != "new" {
		t.Errorf("Refresh() = %+v, %v, want the new token", c, err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	if _, err := s.Get("provider/a"); !errors.Is(err, credentials.ErrNotFound) {
		t.Fatalf("Get() of an empty store = %v, want ErrNotFound", err)
	}
	if err := s.Delete(ctx, "provider/a"); !errors.Is(err, credentials.ErrNotFound) {
		t.Fatalf("Delete() in an empty store = %v, want ErrNotFound", err)
	}
	token := &credentials.Credential{
		Type: credentials.TypeOAuth, Access: "at", Refresh: "rt", Expires: 5, Metadata: map[string]string{"accountId": "1"},
		Client: &credentials.Client{ID: "c", Issuer: "https://i", Resource: "https://r/mcp", TokenURL: "https://i/token", Scopes: []string{"s"}},
	}
	for _, err := range []error{
		s.Put(ctx, "provider/a", key("first")), s.Put(ctx, "provider/a", key("second")), s.Put(ctx, "provider/b", key("b")),
		s.Put(ctx, token.Client.Name(), token, "provider/b"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	token.Source = s.Path()
	want := map[string]*credentials.Credential{
		"provider/a":        {Type: credentials.TypeKey, Key: "second", Source: s.Path()},
		token.Client.Name(): token,
	}
	got, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(s.Path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file = %v, %v, want 0600", info.Mode(), err)
	}
	if err := s.Delete(ctx, "provider/a"); err != nil {
		t.Error(err)
	}
	if _, err := s.Get("provider/a"); !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("Get() after Delete() = %v, want ErrNotFound", err)
	}
}

// The name of a token differs whenever its issuer, client, server or configuration differs.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]credentials.Client{}
	for _, c := range []credentials.Client{
		{}, {Issuer: "a"}, {ID: "a"}, {Resource: "a"}, {Definition: "a"}, {Issuer: "a", ID: "b"}, {Issuer: "ab"}, {ID: "ab"}, {ID: "a", Resource: "b"},
	} {
		name := c.Name()
		if other, taken := seen[name]; taken {
			t.Errorf("%+v and %+v have the name %s", c, other, name)
		}
		seen[name] = c
	}
}

func TestBadFile(t *testing.T) {
	t.Parallel()
	secret := "sk-very-secret"
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"empty":         {"", 0o600, "empty; remove it"},
		"no JSON":       {`{"version": 1, "credentials": ` + secret, 0o600, "invalid JSON at byte"},
		"wrong type":    {`{"version": 1, "credentials": "` + secret + `"}`, 0o600, "wrong type of value"},
		"no object":     {`[]`, 0o600, "the file: wrong type of value"},
		"no version":    {`{}`, 0o600, "version 0: want 1"},
		"newer":         {`{"version": 2}`, 0o600, "update tenon"},
		"readable":      {`{"version": 1}`, 0o644, "chmod 600"},
		"unknown type":  {`{"version": 1, "credentials": {"provider/a": {"type": "x", "key": "` + secret + `"}}}`, 0o600, `provider/a: type "x"`},
		"no secret":     {`{"version": 1, "credentials": {"provider/a": {"type": "api"}}}`, 0o600, "provider/a: no key"},
		"line end":      {`{"version": 1, "credentials": {"provider/a": {"type": "api", "key": "` + secret + `\n"}}}`, 0o600, "control character"},
		"negative":      {`{"version": 1, "credentials": {"provider/a": {"type": "oauth", "access": "a", "expires": -1}}}`, 0o600, "expires"},
		"wrong in one":  {`{"version": 1, "credentials": {"provider/a": {"type": "api", "key": 5}}}`, 0o600, "key: wrong type of value"},
		"one not known": {`{"version": 1, "credentials": {"provider/a": 5}}`, 0o600, "provider/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && c.mode != 0o600 {
				t.Skip("Windows has no such permissions")
			}
			path := filepath.Join(t.TempDir(), credentials.File)
			if err := errors.Join(os.WriteFile(path, []byte(c.content), c.mode), os.Chmod(path, c.mode)); err != nil { // despite the umask
				t.Fatal(err)
			}
			_, err := credentials.Open(path).Get("provider/a")
			if !errors.Is(err, credentials.ErrFile) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("Get() = %v, want ErrFile with %q", err, c.want)
			}
		})
	}
}

// An entry that this version does not understand survives a write and can be removed.
func TestUnknownEntry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), credentials.File)
	if err := os.WriteFile(path, []byte(`{"version": 1, "credentials": {"provider/a": {"type": "later", "x": 1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := credentials.Open(path)
	if err := s.Put(t.Context(), "provider/b", key("b")); err != nil {
		t.Fatal(err)
	}
	all, err := s.All()
	if len(all) != 1 || !errors.Is(err, credentials.ErrFile) {
		t.Errorf("All() = %v, %v, want one credential and ErrFile", all, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "later") {
		t.Errorf("the entry is lost: %s, %v", data, err)
	}
	if err := s.Delete(t.Context(), "provider/a"); err != nil {
		t.Error(err)
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, c := range map[string]*credentials.Credential{
		"no key":   key(""),
		"line end": key("a\nb"),
		"type":     {Type: "x", Key: "a"},
	} {
		if err := s.Put(t.Context(), "provider/a", c); err == nil {
			t.Errorf("Put(%s) = nil, want an error", name)
		}
	}
	if _, err := os.Stat(s.Path()); err == nil {
		t.Error("a refused credential created the file")
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	soon, later := time.Now().Add(20*time.Second).UnixMilli(), time.Now().Add(time.Hour).UnixMilli()
	for name, c := range map[string]struct {
		expires  int64
		rejected string
		result   error
		want     string
		calls    int
	}{
		"valid":                  {later, "", nil, "old", 0},
		"never expires":          {0, "", nil, "old", 0},
		"expires soon":           {soon, "", nil, "new", 1},
		"rejected":               {later, "old", nil, "new", 1},
		"an older one rejected":  {later, "older", nil, "old", 0},
		"the refresh is refused": {soon, "", broken, "old", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			old := &credentials.Credential{Type: credentials.TypeOAuth, Access: "old", Refresh: "r1", Expires: c.expires}
			if err := s.Put(t.Context(), "mcp/a", old); err != nil {
				t.Fatal(err)
			}
			calls := 0
			_, err := s.Refresh(t.Context(), "mcp/a", c.rejected, func(_ context.Context, given *credentials.Credential) (*credentials.Credential, error) {
				calls++
				if given.Refresh != "r1" {
					t.Errorf("refresh of %+v, want the stored credential", given)
				}
				return &credentials.Credential{Type: credentials.TypeOAuth, Access: "new", Refresh: "r2", Expires: later}, c.result
			})
			if !errors.Is(err, c.result) || calls != c.calls {
				t.Errorf("Refresh() = %v after %d calls, want %v after %d", err, calls, c.result, c.calls)
			}
			if got, err := s.Get("mcp/a"); err != nil || got.Access != c.want {
				t.Errorf("stored %+v, %v, want %q", got, err, c.want)
			}
		})
	}
}

// A credential that the user removes during a refresh stays removed.
func TestRemovedDuringRefresh(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := s.Put(t.Context(), "mcp/a", &credentials.Credential{Type: credentials.TypeOAuth, Access: "old", Expires: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Refresh(t.Context(), "mcp/a", "", func(ctx context.Context, _ *credentials.Credential) (*credentials.Credential, error) {
		return &credentials.Credential{Type: credentials.TypeOAuth, Access: "new"}, s.Delete(ctx, "mcp/a")
	})
	if !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("Refresh() = %v, want ErrNotFound", err)
	}
	if _, err := s.Get("mcp/a"); !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("Get() = %v, want ErrNotFound", err)
	}
}

// A caller that loses interest during a refresh does not lose the new token: the server may no longer accept the old one.
func TestCanceledRefresh(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := s.Put(t.Context(), "mcp/a", token("old", 1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		fmt.Fprint(w, "fresh")
	}))
	t.Cleanup(server.Close)
	_, err := s.Refresh(ctx, "mcp/a", "", func(ctx context.Context, _ *credentials.Credential) (*credentials.Credential, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the refresh has no time limit")
		}
		text, err := get(ctx, server.URL)
		return token(text, 0), err
	})
	if got, kept := s.Get("mcp/a"); err != nil || kept != nil || got.Access != "fresh" {
		t.Errorf("Refresh() = %v; stored %+v, %v, want the fresh token", err, got, kept)
	}
}

// A credential that is stored during a refresh takes precedence over the refreshed one.
func TestStoredDuringRefresh(t *testing.T) {
	t.Parallel()
	wanting := token("old", 1)
	wanting.Client = &credentials.Client{ID: "c", Wanted: []string{"more"}}
	for name, c := range map[string]struct {
		meanwhile *credentials.Credential
		access    string
		wanted    []string
	}{
		"another sign-in": {token("signed in", 0), "signed in", nil},
		"a key":           {key("k"), "", nil},
		"more scopes":     {wanting, "refreshed", []string{"more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			old := token("old", 1)
			old.Client = &credentials.Client{ID: "c"}
			if err := s.Put(t.Context(), "mcp/a", old); err != nil {
				t.Fatal(err)
			}
			got, err := s.Refresh(t.Context(), "mcp/a", "", func(ctx context.Context, old *credentials.Credential) (*credentials.Credential, error) {
				fresh := *old
				fresh.Access, fresh.Expires = "refreshed", 0
				return &fresh, s.Put(ctx, "mcp/a", c.meanwhile)
			})
			if err != nil || got.Access != c.access {
				t.Errorf("Refresh() = %+v, %v, want %q", got, err, c.access)
			}
			stored, err := s.Get("mcp/a")
			if err != nil || stored.Access != c.access {
				t.Errorf("stored %+v, %v, want %q", stored, err, c.access)
			}
			if c.wanted != nil && !cmp.Equal(stored.Client.Wanted, c.wanted) {
				t.Errorf("wanted scopes %q, want %q", stored.Client.Wanted, c.wanted)
			}
		})
	}
}

// No change of concurrent processes is lost, and none restores a credential that was removed.
func TestChange(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := token("a", 0)
	first.Client = &credentials.Client{ID: "c"}
	if err := s.Put(t.Context(), "mcp/a", first); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for n := range 8 {
		running.Go(func() { // ends with the call; waited for below
			if err := s.Change(t.Context(), "mcp/a", func(c *credentials.Credential) { c.Client.Wanted = append(c.Client.Wanted, fmt.Sprint(n)) }); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if got, err := s.Get("mcp/a"); err != nil || len(got.Client.Wanted) != 8 {
		t.Errorf("stored %+v, %v, want 8 scopes", got, err)
	}
	if err := s.Change(t.Context(), "mcp/a", func(c *credentials.Credential) { c.Access = "" }); err == nil {
		t.Error("Change() to a credential without a token = nil, want an error")
	}
	if err := s.Delete(t.Context(), "mcp/a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Change(t.Context(), "mcp/a", func(*credentials.Credential) {}); !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("Change() of a removed credential = %v, want ErrNotFound", err)
	}
}

const (
	refreshVariable = "TENON_TEST_CREDENTIALS"
	serverVariable  = "TENON_TEST_SERVER"
)

// refreshOnce is a process that needs a fresh token and prints it.
func refreshOnce(path, server string) int {
	c, err := credentials.Open(path).Refresh(context.Background(), "mcp/a", "", func(ctx context.Context, old *credentials.Credential) (*credentials.Credential, error) {
		body, err := get(ctx, server+"?refresh="+url.QueryEscape(old.Refresh))
		if err != nil {
			return nil, err
		}
		return &credentials.Credential{Type: credentials.TypeOAuth, Access: body, Refresh: "next", Expires: time.Now().Add(time.Hour).UnixMilli()}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(c.Access)
	return 0
}

// get returns what a server answers.
func get(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return string(body), err
}

// Of many processes that need a token one refreshes it. The server, like those that rotate refresh tokens, accepts a refresh token once.
func TestRefreshByProcesses(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	used := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if used++; used > 1 || r.URL.Query().Get("refresh") != "single-use" {
			http.Error(w, "invalid_grant", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "fresh")
	}))
	t.Cleanup(server.Close)
	s := open(t)
	if err := s.Put(t.Context(), "mcp/a", &credentials.Credential{Type: credentials.TypeOAuth, Access: "old", Refresh: "single-use", Expires: 1}); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() { // ends with the process; waited for below
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), refreshVariable+"="+s.Path(), serverVariable+"="+server.URL)
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "fresh" {
				t.Errorf("process: %q, %v, want the fresh token", out, err)
			}
		})
	}
	running.Wait()
	if used != 1 {
		t.Errorf("%d refresh requests, want 1", used)
	}
}

// A lock that is held ends in an error that names the file.
func TestLocked(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := s.Put(t.Context(), "mcp/a", &credentials.Credential{Type: credentials.TypeOAuth, Access: "old", Expires: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Refresh(t.Context(), "mcp/a", "", func(ctx context.Context, c *credentials.Credential) (*credentials.Credential, error) {
		short, cancel := context.WithCancel(ctx)
		cancel()
		return s.Refresh(short, "mcp/a", "", nil)
	})
	if !errors.Is(err, credentials.ErrLocked) || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("Refresh() under the lock = %v, want ErrLocked and the file", err)
	}
}
