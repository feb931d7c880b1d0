package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

func workspace(t *testing.T) *Workspace {
	t.Helper()
	home := t.TempDir()
	return &Workspace{
		App: &App{Mask: &maskWriter{}}, Project: sdk.Project{Home: home, DataDir: filepath.Join(home, "data")}, Loaded: &config.Loaded{Config: &sdk.Config{}},
	}
}

// The warning about stored credentials is about those that cannot be used.
func TestUnusableCredentials(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"version": 1, "credentials": {"provider/a": {"type": "api", "key": "key-of-a"}, "provider/b": {"type": "x"}}}`: `stored credentials are neither used nor masked" err="bad credentials file: FILE: provider/b: type`,
		`{"version": `: `"stored credentials are neither used nor masked" err="bad credentials file: FILE: invalid JSON`,
	} {
		w := workspace(t)
		file := filepath.Join(w.Project.DataDir, credentials.File)
		if err := errors.Join(os.Mkdir(w.Project.DataDir, 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		w.App.Log = slog.New(slog.NewTextHandler(&out, nil))
		w.hideStored()
		if said := strings.ReplaceAll(out.String(), strings.Trim(strconv.Quote(file), `"`), "FILE"); !strings.Contains(said, want) {
			t.Errorf("%s: the log has %s, want %s", text, said, want)
		}
	}
}

// Requests whose token is refused at the same time share one refresh; the server accepts a refresh token once.
func TestAuthorizeRefreshesOnce(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	var refreshes atomic.Int32
	method := sdk.AuthMethod{Provider: "p", ID: "m", Refresh: func(_ context.Context, _ sdk.Object, old *sdk.Token) (*sdk.Token, error) {
		n := refreshes.Add(1)
		if old.Refresh != fmt.Sprintf("r%d", n-1) {
			return nil, &oauth.Error{Status: 400, Code: oauth.CodeInvalidGrant}
		}
		return &sdk.Token{Access: fmt.Sprintf("a%d", n), Refresh: fmt.Sprintf("r%d", n)}, nil
	}}
	stored := credential(&sdk.AuthMethod{ID: "m"}, &sdk.Token{Access: "a0", Refresh: "r0"})
	if err := w.Credentials().Put(t.Context(), credentials.ForProvider("p"), stored); err != nil {
		t.Fatal(err)
	}
	authorize := w.authorize("p", method, stored)
	first, err := authorize(t.Context(), nil)
	if err != nil || first["Authorization"] != "Bearer a0" {
		t.Fatalf("headers %v, %v", first, err)
	}
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() { // ends with the call; waited for below
			if second, err := authorize(t.Context(), first); err != nil || second["Authorization"] != "Bearer a1" {
				t.Errorf("headers after a refusal %v, %v", second, err)
			}
		})
	}
	running.Wait()
	if n := refreshes.Load(); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
	method.Refresh = nil
	if _, err := w.authorize("p", method, stored)(t.Context(), map[string]string{"Authorization": "Bearer a1"}); err == nil || !strings.Contains(err.Error(), "tenon auth login p") {
		t.Errorf("a refused token without a refresh = %v, want the command", err)
	}
	if err := w.Credentials().Delete(t.Context(), credentials.ForProvider("p")); err != nil {
		t.Fatal(err)
	}
	if _, err := authorize(t.Context(), nil); !errors.Is(err, credentials.ErrNotFound) || !strings.Contains(err.Error(), "tenon auth login p") {
		t.Errorf("after a logout = %v, want ErrNotFound and the command", err)
	}
}

// A refreshed token that cannot be stored is used by everything in the process: the server accepts a refresh token once.
func TestUnstoredTokenIsShared(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a directory with an open file cannot be renamed there")
	}
	w := workspace(t)
	w.App.Log = slog.New(slog.DiscardHandler)
	dir, away := w.Project.DataDir, w.Project.DataDir+"-away"
	refreshes := 0
	method := sdk.AuthMethod{Provider: "p", ID: "m", Refresh: func(context.Context, sdk.Object, *sdk.Token) (*sdk.Token, error) {
		refreshes++
		return &sdk.Token{Access: "a1", Refresh: "r1"}, errors.Join(os.Rename(dir, away), os.WriteFile(dir, nil, 0o600)) // like a lost file system
	}}
	stored := credential(&method, &sdk.Token{Access: "a0", Refresh: "r0"})
	if err := w.Credentials().Put(t.Context(), credentials.ForProvider("p"), stored); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{"Authorization": "Bearer a0"}
	for range 2 { // such as two loads of the provider
		if got, err := w.authorize("p", method, stored)(t.Context(), refused); err != nil || got["Authorization"] != "Bearer a1" {
			t.Fatalf("headers after a refusal %v, %v", got, err)
		}
		if refreshes == 1 && os.Remove(dir) == nil {
			if err := os.Rename(away, dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refreshes != 1 {
		t.Errorf("%d refreshes, want 1", refreshes)
	}
}

// A token of opencode is used until it expires or is refused: only opencode may refresh it.
func TestOpencodeToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expires sdk.Millis
		refused map[string]string
		want    string
	}{
		"valid":   {expires: 1 << 50, want: "Bearer a"},
		"expired": {expires: 1},
		"refused": {refused: map[string]string{"Authorization": "Bearer a"}},
	} {
		stored := &credentials.Credential{Type: credentials.TypeOAuth, Access: "a", Expires: c.expires, Source: credentials.OpencodeSource}
		headers, err := workspace(t).authorize("p", sdk.AuthMethod{Provider: "p"}, stored)(t.Context(), c.refused)
		if headers["Authorization"] != c.want || c.want == "" && (err == nil || !strings.Contains(err.Error(), "tenon auth login p")) {
			t.Errorf("%s: %v, %v, want %q or the command", name, headers, err, c.want)
		}
	}
}

// A repository does not choose where the user signs in.
func TestProviderOptionsOfUser(t *testing.T) {
	t.Parallel()
	options := func(server string) *sdk.Config {
		return &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": {Options: sdk.ProviderOptions{BaseURL: server, Extra: sdk.Extra{"enterpriseUrl": []byte(`"` + server + `"`)}}}}}
	}
	w := workspace(t)
	w.Loaded.Config = options("https://attacker.example")
	w.Loaded.Own = options("https://mine.example")
	if got := w.ProviderOptions("p"); len(got) != 2 || got["enterpriseUrl"] != "https://mine.example" || got["baseURL"] != "https://mine.example" {
		t.Errorf("ProviderOptions() = %v, want the user's", got)
	}
	if got := w.methodOptions(&sdk.AuthMethod{Plugin: "acme", Provider: "p"}); len(got) > 0 {
		t.Errorf("a plugin receives the options %v", got)
	}
}

// A token belongs to the plugin that issued it, not to its name, which another plugin can have.
func TestTokenOfNamesake(t *testing.T) {
	t.Parallel()
	issuer := sdk.AuthMethod{Plugin: "acme", Owner: "acme-11111111", Provider: "p", ID: "m"}
	other := issuer
	other.Owner = "acme-22222222"
	c := credential(&issuer, &sdk.Token{Access: "a"})
	if _, ok := methodOf([]sdk.AuthMethod{other}, "p", c); ok {
		t.Error("a plugin of the same name receives the token")
	}
	if got, ok := methodOf([]sdk.AuthMethod{other, issuer}, "p", c); !ok || got.Owner != issuer.Owner {
		t.Errorf("methodOf() = %+v, %v, want the issuer", got, ok)
	}
	if _, ok := methodOf([]sdk.AuthMethod{issuer}, "p", &credentials.Credential{Access: "a", Source: credentials.OpencodeSource}); ok {
		t.Error("a plugin receives a token of opencode")
	}
}

// After the user has signed in with another method, in another terminal, the first method neither sees nor refreshes its token.
func TestOtherSignIn(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	first := sdk.AuthMethod{
		Plugin: "acme", Owner: "acme-11111111", Provider: "p", ID: "m",
		Headers: func(_ context.Context, token *sdk.Token) (map[string]string, error) {
			t.Errorf("Headers sees %q", token.Access)
			return nil, nil
		},
		Refresh: func(_ context.Context, _ sdk.Object, old *sdk.Token) (*sdk.Token, error) {
			t.Errorf("Refresh sees %q", old.Refresh)
			return old, nil
		},
	}
	authorize := w.authorize("p", first, credential(&first, &sdk.Token{Access: "a"}))
	for _, expires := range []sdk.Millis{1, 1 << 50} {
		other := credential(&sdk.AuthMethod{ID: "m"}, &sdk.Token{Access: "b", Refresh: "r", Expires: expires})
		if err := w.Credentials().Put(t.Context(), credentials.ForProvider("p"), other); err != nil {
			t.Fatal(err)
		}
		for _, refused := range []map[string]string{nil, {"Authorization": "a"}} {
			if got, err := authorize(t.Context(), refused); err == nil {
				t.Errorf("a token until %d authorizes with %v", expires, got)
			}
		}
	}
}

// A sign-in that has its own address is not used at another one.
func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	method := sdk.AuthMethod{Provider: "p", ID: "m", Apply: func(info *sdk.ProviderInfo, _ *sdk.Token) { info.BaseURL = "https://own.example" }}
	w.stored.Store(&map[string]*credentials.Credential{"p": credential(&method, &sdk.Token{Access: "a"})})
	for _, addressed := range []bool{false, true} {
		info := sdk.ProviderInfo{ID: "p"}
		source := w.SignIn(&model.SignInRequest{Info: &info, Methods: []sdk.AuthMethod{method}, Addressed: addressed})
		if (source == "") != addressed || (info.Authorize == nil) != addressed {
			t.Errorf("with another address %v: source %q, authorized %v", addressed, source, info.Authorize != nil)
		}
	}
}

// TestKeyWithResource: a key of opencode for Azure has the name of its resource, which the configuration replaces.
func TestKeyWithResource(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	w.stored.Store(&map[string]*credentials.Credential{"azure": {
		Type: credentials.TypeKey, Key: "k", Metadata: map[string]string{"resourceName": "stored", "other": "x"}, Source: credentials.OpencodeSource,
	}})
	for configured, want := range map[string]string{"": "stored", "mine": "mine"} {
		info := sdk.ProviderInfo{ID: "azure"}
		if configured != "" {
			info.Options = sdk.Object{"resourceName": configured}
		}
		if w.SignIn(&model.SignInRequest{Info: &info}) == "" || info.Key != "k" || info.Options["resourceName"] != want || len(info.Options) != 1 {
			t.Errorf("resource %q configured: options %v, key %q, want the resource %q", configured, info.Options, info.Key, want)
		}
	}
}

// A refreshed token of the store is read with each request; a key that changed, and a token that opencode refreshed, belong to a new generation.
func TestCredentialsChanged(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	token := credentials.Credential{Type: credentials.TypeOAuth, Method: "m", Access: "a", Refresh: "r"}
	refreshed := token
	refreshed.Access = "b"
	stored := func(c *credentials.Credential) func() error {
		return func() error { return w.Credentials().Put(t.Context(), credentials.ForProvider("p"), c) }
	}
	inKeyring := func(stored, access string) func() error {
		return func() error {
			text := fmt.Sprintf(`{"version": 1, "credentials": {"provider/k": {"type": "api", "keyring": true, "metadata": {"stored": %q}},
				"provider/t": {"type": "oauth", "method": "m", "access": %q}}}`, stored, access)
			return os.WriteFile(w.Credentials().Path(), []byte(text), 0o600)
		}
	}
	opencode := filepath.Join(w.Project.Home, ".local", "share", "opencode", "auth.json")
	for _, step := range []struct {
		name   string
		change func() error
		want   bool
	}{
		{"nothing", func() error { return nil }, false},
		{"a token", stored(&token), true},
		{"refreshed", stored(&refreshed), false},
		{"a key instead", stored(&credentials.Credential{Type: credentials.TypeKey, Key: "k"}), true},
		{"another key", stored(&credentials.Credential{Type: credentials.TypeKey, Key: "k2"}), true},
		{"removed", func() error { return w.Credentials().Delete(t.Context(), credentials.ForProvider("p")) }, true},
		{"a key in the keyring", inKeyring("1", "a"), true},
		{"a refreshed token next to it", inKeyring("1", "b"), false},
		{"another key in the keyring", inKeyring("2", "b"), true},
		{"opencode's", func() error {
			return errors.Join(os.MkdirAll(filepath.Dir(opencode), 0o700), os.WriteFile(opencode, []byte(`{"o": {"type": "oauth", "access": "a", "refresh": "r", "expires": 99999999999999}}`), 0o600))
		}, true},
		{"refreshed by opencode", func() error {
			return os.WriteFile(opencode, []byte(`{"o": {"type": "oauth", "access": "b", "refresh": "r", "expires": 99999999999999}}`), 0o600)
		}, true},
		{"a damaged file", func() error { return os.WriteFile(w.Credentials().Path(), []byte("{"), 0o600) }, false},
		{"a key next to a damaged one", func() error {
			return os.WriteFile(w.Credentials().Path(), []byte(`{"version": 1, "credentials": {"provider/p": {"type": "x"}, "provider/q": {"type": "api", "key": "k"}}}`), 0o600)
		}, true},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got := w.CredentialsChanged(); got != step.want {
			t.Errorf("%s: CredentialsChanged() = %v, want %v", step.name, got, step.want)
		}
	}
}
