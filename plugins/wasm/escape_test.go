package wasm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// attempt lets the guest in Go try something and returns what it says came of it.
func attempt(t *testing.T, p sdk.Plugin, what string, args ...string) string {
	t.Helper()
	h := p.(sdk.Hooker).Hooks()[0]
	input, err := json.Marshal(sdk.PermissionRequest{ID: "per_1", SessionID: "ses_1", Permission: what, Patterns: args})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{Point: h.Point, Hook: h.Name, Input: input})
	if err != nil {
		return "failed: " + err.Error()
	}
	return answer.Reason
}

// escapist returns the guest in Go with grants.
func escapist(t *testing.T, s remote.Unit, h host) sdk.Plugin {
	t.Helper()
	r := newRuntime(t, wasm.Options{CacheDir: guestCache(t)})
	s.Program = goGuest(t, "escape")
	s.Description.Hooks = gates(1)
	return started(t, r, s, h)
}

// outside makes a directory with a secret, and beside it one to grant, with links from one to the other.
func outside(t *testing.T) (granted, secret string) {
	t.Helper()
	dir := t.TempDir()
	granted, secret = filepath.Join(dir, "granted"), filepath.Join(dir, "secret.txt")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(secret, []byte("the secret"), 0o600))
	must(os.MkdirAll(filepath.Join(granted, "sub"), 0o700))
	must(os.WriteFile(filepath.Join(granted, "file.txt"), []byte("hello"), 0o600))
	must(os.Symlink(secret, filepath.Join(granted, "link")))
	must(os.Symlink("../secret.txt", filepath.Join(granted, "relative")))
	must(os.Symlink("..", filepath.Join(granted, "up")))
	must(os.Symlink("/", filepath.Join(granted, "root")))
	must(os.Symlink("file.txt", filepath.Join(granted, "inside")))
	return granted, secret
}

// Without grants, a guest has no access to the machine it runs on.
func TestNothingWithoutGrants(t *testing.T) {
	t.Parallel()
	_, secret := outside(t)
	p := escapist(t, remote.Unit{Env: map[string]string{"TOKEN": "abc", "HOME": "/root"}}, host{project: sdk.Project{Worktree: filepath.Dir(secret)}})
	for name, c := range map[string]struct {
		what string
		args []string
		want string // how the answer begins
	}{
		"file":         {"read", []string{secret}, "error: "},
		"etc":          {"read", []string{"/etc/passwd"}, "error: "},
		"proc":         {"read", []string{"/proc/self/environ"}, "error: "},
		"dev":          {"read", []string{"/dev/mem"}, "error: "},
		"relative":     {"read", []string{"go.mod"}, "error: "},
		"dots":         {"read", []string{"../../../../../../etc/passwd"}, "error: "},
		"list root":    {"list", []string{"/"}, "error: "},
		"list here":    {"list", []string{"."}, "error: "},
		"write":        {"write", []string{"/tmp/x"}, "error: "},
		"network":      {"dial", []string{"127.0.0.1:80"}, "error: "},
		"clock":        {"time", nil, "2022-"},
		"exit":         {"exit", nil, "failed: trap: it ended itself with exit code 7"},
		"after exit":   {"stat", []string{"/"}, "error: "},
		"program name": {"args", nil, ""},
	} {
		if got := attempt(t, p, c.what, c.args...); !strings.HasPrefix(got, c.want) || strings.Contains(got, "secret\n") {
			t.Errorf("%s: %q, want one that begins with %q", name, got, c.want)
		}
	}
	if got := attempt(t, p, "env"); got != "" {
		t.Errorf("environment: %q", got)
	}
}

// WASI itself has nothing behind it without grants. See the letters in raw.wat: 8 is EBADF.
func TestRawWASI(t *testing.T) {
	t.Parallel()
	p := started(t, newRuntime(t, wasm.Options{}), remote.Unit{Program: module("raw.wasm"), Description: sdk.Description{Hooks: gates(1)}}, host{})
	got, err := ask(t.Context(), p, 0, "")
	if want := "AIAIAIAIAIAIAAAA"; err != nil || got.Reason != want {
		t.Errorf("the answers of WASI are %q, %v, want %q", got.Reason, err, want)
	}
}

// Env gives the variables named and no other.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	p := escapist(t, remote.Unit{
		Env:    map[string]string{"TOKEN": "abc", "LANG": "C", "LANGUAGE": "de"},
		Grants: []sdk.Capability{{Name: sdk.CapabilityEnv, Scope: []string{"LANG", "MISSING"}}},
	}, host{})
	if got := attempt(t, p, "env"); got != "LANG=C" {
		t.Errorf("environment: %q", got)
	}
}

// A clock is the real one, and a sleep in it ends with the call.
func TestClock(t *testing.T) { // not beside others: it measures time
	p := escapist(t, remote.Unit{Grants: []sdk.Capability{{Name: sdk.CapabilityClock}}}, host{})
	got, err := time.Parse(time.RFC3339, attempt(t, p, "time"))
	if err != nil || time.Since(got).Abs() > time.Minute {
		t.Errorf("it is %v, the guest says %v, %v", time.Now(), got, err)
	}
	h := p.(sdk.Hooker).Hooks()[0]
	endsAtDeadline(t, func(ctx context.Context) error { // in a sleep of an hour
		_, err := h.Remote.HandleRemote(ctx, &sdk.RemoteCall{Point: h.Point, Input: []byte(`{"permission":"sleep","sessionID":"ses_1"}`)})
		return err
	})
}

// Links and paths do not lead out of a granted directory.
func TestDirectories(t *testing.T) {
	t.Parallel()
	granted, secret := outside(t)
	data := filepath.Join(t.TempDir(), "data")
	p := escapist(t, remote.Unit{
		DataDir: data,
		Grants: []sdk.Capability{
			{Name: sdk.CapabilityRead, Scope: []string{"$PROJECT"}},
			{Name: sdk.CapabilityWrite, Scope: []string{"$DATA"}},
		},
	}, host{project: sdk.Project{Worktree: granted}})
	in := func(path string) string { return filepath.Join(granted, path) }
	for name, c := range map[string]struct {
		what string
		args []string
		want string // all of it, or how it begins when it is an error
	}{
		"a file":                               {"read", []string{in("file.txt")}, "hello"},
		"a link inside":                        {"read", []string{in("inside")}, "hello"},
		"the list":                             {"list", []string{granted}, "file.txt inside link relative root sub up"},
		"a link out":                           {"read", []string{in("link")}, "error: "},
		"a relative link out":                  {"read", []string{in("relative")}, "error: "},
		"through a directory up":               {"read", []string{granted + "/up/secret.txt"}, "error: "},
		"through a link to /":                  {"read", []string{granted + "/root/etc/passwd"}, "error: "},
		"dots":                                 {"read", []string{granted + "/sub/../../secret.txt"}, "error: "},
		"many dots":                            {"read", []string{granted + "/../../../../../../../../etc/passwd"}, "error: "},
		"its absolute path":                    {"read", []string{secret}, "error: "},
		"a path that only begins":              {"read", []string{granted + "-other/x"}, "error: "},
		"proc":                                 {"read", []string{granted + "/root/proc/self/environ"}, "error: "},
		"stat of a link out":                   {"stat", []string{in("link")}, "error: "},
		"listing up":                           {"list", []string{in("up")}, "error: "},
		"a write where only reads are granted": {"write", []string{in("new.txt")}, "error: "},
		"an overwrite":                         {"write", []string{in("file.txt")}, "error: "},
		"an append":                            {"append", []string{in("file.txt")}, "error: "},
		"a removal":                            {"remove", []string{in("file.txt")}, "error: "},
		"a directory":                          {"mkdir", []string{in("new")}, "error: "},
		"a rename":                             {"rename", []string{in("file.txt"), in("b")}, "error: "},
		"a rename out":                         {"rename", []string{in("file.txt"), data + "/b"}, "error: "},
		"a hard link":                          {"link", []string{in("file.txt"), data + "/b"}, "error: "},
		"a symbolic link":                      {"symlink", []string{"/etc", data + "/etc"}, "error: "},
		"a write to its own directory":         {"write", []string{data + "/a.txt"}, ""},
		"a write beside it":                    {"write", []string{data + "/../b.txt"}, "error: "},
	} {
		got := attempt(t, p, c.what, c.args...)
		ok := got == c.want
		if c.want == "error: " {
			ok = strings.HasPrefix(got, c.want)
		}
		if !ok || strings.Contains(got, "the secret") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := attempt(t, p, "files", in("file.txt")); len(got) != 2 || got > "64" {
		t.Errorf("%s files could be open", got)
	}
	for path, want := range map[string]string{in("file.txt"): "hello", secret: "the secret", filepath.Join(data, "a.txt"): "written"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", path, got, err, want)
		}
	}
	if info, err := os.Stat(data); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the plugin's own directory: %v, %v", info.Mode(), err)
	}
}

// An operation that was not granted is a status, whatever the guest does with it.
func TestForeignOperation(t *testing.T) {
	t.Parallel()
	p := started(t, newRuntime(t, wasm.Options{}), remote.Unit{
		Program: module("nested.wasm"), Description: sdk.Description{Hooks: gates(1)}, Broker: ability.New(ability.Options{Plugin: "guest"}),
	}, host{})
	if got, err := ask(t.Context(), p, 0, "a"); err != nil || got.Verdict != sdk.VerdictDeny {
		t.Errorf("%+v, %v", got, err)
	}
}

// lockedBuffer is a buffer for many goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A guest's output goes to the log, without control characters, and with a bound.
func TestLog(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := escapist(t, remote.Unit{}, host{log: log.With("plugin", "escape")})
	if got := attempt(t, p, "say", "a\x1b[31mb\x00"+strings.Repeat("x", 10_000)); got != "" {
		t.Fatal(got)
	}
	text := out.String()
	if strings.Count(text, "plugin=escape") != 2 || strings.ContainsAny(text, "\x1b\x00") || len(text) > 10_000 || strings.Contains(text, "level=WARN") {
		t.Errorf("log: %.300q, %d bytes", text, len(text))
	}
	flood := started(t, newRuntime(t, wasm.Options{}), remote.Unit{Program: module("faults.wasm"), Description: sdk.Description{Hooks: gates(faults)}}, host{log: log})
	if _, err := ask(t.Context(), flood, faultNone, ""); err != nil { // compiles it, which is not to count
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := ask(ctx, flood, 15, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	most := 200 * (int(time.Since(began).Seconds()) + 2)
	if n := strings.Count(out.String(), "a line of the log"); n == 0 || n > most {
		t.Errorf("%d lines of a flood were written, want 1 to %d", n, most)
	}
}
