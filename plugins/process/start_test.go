package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// Mistakes of a plugin before it is ready: each is a clear error, in bounded time.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	const short, usual = 1500 * time.Millisecond, time.Minute
	tests := map[string]struct {
		kind    string
		timeout time.Duration
		want    string
	}{
		"garbage instead of the handshake":   {"garbage", usual, `its first line of output is "hello world\n"`},
		"says nothing":                       {"silent", short, "it was not ready within 1.5s: it sent no handshake"},
		"exits and says why":                 {"exit", usual, "exit status 3: cannot read settings.toml"},
		"ends at once":                       {"empty", usual, "exit status 0: it ended without its handshake"},
		"drips bytes":                        {"drip", short, "it was not ready within 1.5s: it sent no handshake"},
		"floods without a line":              {"flood", usual, `its first line of output is "xxxx`},
		"another version":                    {"version", usual, `version "9" of tenon's process protocol, this host version 1`},
		"listens elsewhere":                  {"elsewhere", usual, "not in the directory PLUGIN_UNIX_SOCKET_DIR names"},
		"nothing listens, with a bad cert":   {"deaf", usual, "server cert"},
		"the plugin's start fails":           {"badstart", usual, "option level: want a number"},
		"the plugin's start does not end":    {"slowstart", short, "it was not ready within 1.5s"},
		"does not serve what it contributes": {"rawempty", usual, "Start not implemented"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := started(t, process.Options{StartTimeout: tt.timeout}, guestSpec(t, tt.kind), nil)
			_, err := callTool(t, p, "echo", `{}`, nil)
			if !errors.Is(err, process.ErrStart) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A hook whose time ends during the start can say what it waited for, and since when.
func TestHookDuringStart(t *testing.T) {
	t.Parallel()
	p := started(t, process.Options{StartTimeout: time.Minute}, guestSpec(t, "silent"), nil)
	ready := p.(sdk.Hooker).Hooks()[0].Remote.(hooks.RemoteReadier).Ready
	begin := time.Now()
	if _, err := ready(); err != nil {
		t.Errorf("before the first call: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := callHookIn(ctx, t, p, "warm"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	began, err := ready()
	if err == nil || hooks.Blameless(err) || !strings.Contains(err.Error(), "it has not sent its handshake") || began.Before(begin) || began.After(time.Now()) {
		t.Errorf("during the start: %v, %v", began, err)
	}
}

func TestCannotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct{ command, dir, want string }{
		"no such file":     {filepath.Join(dir, "nothing"), dir, "no such file"},
		"not executable":   {write("plain", "#!/bin/sh\n", 0o600), dir, "permission denied; check that it is executable"},
		"no program":       {write("text", "just text", 0o700), dir, "not a program for this system"},
		"no interpreter":   {write("script", "#!/no/such/interpreter\n", 0o700), dir, "the interpreter in its first line"},
		"no such work dir": {"/bin/sh", filepath.Join(dir, "gone"), "working directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := remote.Unit{Description: description("plain"), Command: []string{tt.command}, Root: tt.dir}
			p := started(t, process.Options{}, spec, nil)
			_, err := callTool(t, p, "echo", `{}`, nil)
			if !errors.Is(err, process.ErrStart) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if !strings.Contains(err.Error(), tt.command) {
				t.Errorf("error %v does not name the file", err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	spec := guestSpec(t, "plain")
	want := spec.Description
	spec.Description = sdk.Description{}
	got, err := process.New(process.Options{}).Describe(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "guest-plain" || got.Version != "1.2.3" || len(got.Hooks) != len(want.Hooks) || len(got.Tools) != len(want.Tools) {
		t.Errorf("description %+v", got)
	}
	spec.Env[guestKind] = "exit"
	if _, err := process.New(process.Options{}).Describe(t.Context(), spec); !errors.Is(err, process.ErrStart) || !strings.Contains(err.Error(), "settings.toml") {
		t.Errorf("error %v", err)
	}
}
