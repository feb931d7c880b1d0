//go:build unix

package process_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

func digestOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// copied makes a copy of the guest's executable that may be changed.
func copied(t *testing.T, spec *remote.Unit) string {
	t.Helper()
	data, err := os.ReadFile(spec.Command[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(spec.Root, "guest")
	replace(t, path, string(data))
	spec.Command = []string{path}
	return path
}

// replace puts a new file in the place of path.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Values that plugins must not reach, and ways to try.
func TestEscapes(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-planted")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "aws-planted")
	t.Setenv("TMPDIR", t.TempDir())
	tests := map[string]func(t *testing.T){
		"environment: keys of the host": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			spec.Env["GRANTED"] = "yes"
			env := envOf(t, spec)
			if strings.Contains(env, "planted") || !strings.Contains(env, "GRANTED=yes") || !strings.Contains(env, "PATH=") {
				t.Errorf("environment:\n%s", env)
			}
		},
		"environment: a grant cannot replace what the host sets": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			for _, name := range []string{"PLUGIN_ROOT", "PLUGIN_DATA", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_CLIENT_CERT", "PLUGIN_PROTOCOL_VERSIONS", "TENON_PLUGIN"} {
				spec.Env[name] = "forged"
			}
			env := envOf(t, spec)
			if strings.Contains(env, "forged") || !strings.Contains(env, "PLUGIN_ROOT="+spec.Root+"\n") || !strings.Contains(env, "PLUGIN_DATA="+spec.DataDir+"\n") {
				t.Errorf("environment:\n%s", env)
			}
		},
		"environment: no data directory that was not given": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			spec.DataDir, spec.Env["PLUGIN_DATA"] = "", "/etc"
			if env := envOf(t, spec); strings.Contains(env, "PLUGIN_DATA") {
				t.Errorf("environment:\n%s", env)
			}
		},
		"descriptors: files of the host": func(t *testing.T) {
			if runtime.GOOS != "linux" {
				t.Skip("read from /proc")
			}
			f, err := os.Create(filepath.Join(t.TempDir(), "secret-of-the-host"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			spec := guestSpec(t, "plain")
			spec.Checksum = digestOf(t, spec.Command[0])
			result, err := callTool(t, started(t, process.Options{}, spec, nil), "fds", `{}`, nil)
			if err != nil || strings.Contains(result.Output, "secret-of-the-host") {
				t.Errorf("%v, descriptors:\n%s", err, result.Output)
			}
		},
		"file: another one than was approved": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			spec.Checksum = strings.Repeat("ab", 32)
			wantDigestError(t, started(t, process.Options{}, spec, nil))
		},
		"file: exchanged after Open": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			path := copied(t, &spec)
			spec.Checksum = digestOf(t, path)
			p := started(t, process.Options{}, spec, nil)
			replace(t, path, "#!/bin/sh\nexit 1\n")
			wantDigestError(t, p)
		},
		"file: exchanged before a restart": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			path := copied(t, &spec)
			spec.Checksum = digestOf(t, path)
			p := started(t, unbounded(), spec, nil)
			pid := pidOf(t, p)
			replace(t, path, "#!/bin/sh\nexit 1\n")
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for try := 0; try < 100; try++ { // until the host has noticed
				if _, err := callHook(t, p, "warm"); errors.Is(err, process.ErrDigest) {
					return
				}
			}
			t.Error("a file that was not approved is not refused at a restart")
		},
		"file: no regular one": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			path := filepath.Join(spec.Root, "fifo")
			if err := syscall.Mkfifo(path, 0o700); err != nil {
				t.Fatal(err)
			}
			spec.Command, spec.Checksum = []string{path}, strings.Repeat("ab", 32)
			_, err := callHook(t, started(t, process.Options{}, spec, nil), "warm")
			if !errors.Is(err, process.ErrStart) || !strings.Contains(err.Error(), "not a regular file") {
				t.Error(err)
			}
		},
		"script: another one than was approved": func(t *testing.T) {
			spec := guestSpec(t, "plain")
			script := filepath.Join(spec.Root, "main.sh")
			replace(t, script, "exec "+spec.Command[0])
			spec.Command, spec.Program, spec.Checksum = []string{"/bin/sh", script}, script, digestOf(t, script)
			p := started(t, process.Options{}, spec, nil)
			replace(t, script, "exit 0")
			wantDigestError(t, p)
		},
		"socket: another process connects": func(t *testing.T) {
			if err := connectAsStranger(t, &tls.Config{}); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("without a certificate: %v", err)
			}
		},
		"socket: another process connects, with a certificate that looks the same": func(t *testing.T) {
			config, _, err := process.ClientTLS()
			if err != nil {
				t.Fatal(err)
			}
			err = connectAsStranger(t, config)
			if err == nil || !strings.Contains(err.Error(), "unknown certificate authority") && !strings.Contains(err.Error(), "bad certificate") {
				t.Errorf("with its own certificate: %v", err)
			}
		},
		"token: of a call that is over": func(t *testing.T) {
			p := started(t, process.Options{}, guestSpec(t, "plain"), nil)
			if _, err := callTool(t, p, "stash", `{}`, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := callTool(t, p, "reuse", `{}`, nil); err == nil || !strings.Contains(err.Error(), "is over") {
				t.Error(err)
			}
		},
		"token: guessed": func(t *testing.T) {
			wantAnswer(t, `{"token":"AAAAAAAAAAAAAAAAAAAAAAAAAA","operation":"kv.get"}`, "5 STATUS_DENIED the call")
		},
		"token: an invented one": func(t *testing.T) {
			wantAnswer(t, `{"token":"mine","operation":"kv.get"}`, `5 STATUS_OK {"found":false`)
		},
		"operation: not granted": func(t *testing.T) {
			wantAnswer(t, `{"token":"mine","operation":"secret"}`, "5 STATUS_DENIED")
		},
		"operation: of no call, about a session": func(t *testing.T) {
			wantAnswer(t, `{"operation":"ask"}`, "5 STATUS_FAILED")
		},
		"operation: unknown": func(t *testing.T) {
			wantAnswer(t, `{"token":"mine","operation":"host.shutdown"}`, "5 STATUS_UNKNOWN")
		},
		"operation: none at all": func(t *testing.T) {
			wantAnswer(t, `{}`, "5 STATUS_UNKNOWN this host does not know the request")
		},
		"memory: more than the bound": func(t *testing.T) {
			if runtime.GOOS != "linux" {
				t.Skip("the bound is there on Linux alone")
			}
			p := started(t, process.Options{MemoryMB: 300}, guestSpec(t, "plain"), nil)
			_, err := callHook(t, p, "memory")
			// With the race detector the bound is too small even for a start. Without memory, the runtime may crash before it says so.
			if err == nil || !regexp.MustCompile(`fatal error: |failed to allocate|SIG[A-Z]+: `).MatchString(err.Error()) {
				t.Error(err)
			}
		},
		"end: ignores that it should": func(t *testing.T) {
			p := started(t, process.Options{StopTimeout: 100 * time.Millisecond}, guestSpec(t, "slowclose"), nil)
			pid := pidOf(t, p)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d: %v", pid, err)
			}
		},
		"end: leaves a process behind when it is closed": func(t *testing.T) {
			spec, family := heldGuest(t)
			p := started(t, process.Options{}, spec, nil)
			startGrandchild(t, p)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			wantGone(t, family)
		},
		"end: leaves a process behind when it crashes": func(t *testing.T) {
			spec, family := heldGuest(t)
			p := started(t, process.Options{Restarts: -1}, spec, nil)
			startGrandchild(t, p)
			if _, err := callHook(t, p, "exit"); !errors.Is(err, process.ErrEnded) {
				t.Error(err)
			}
			wantGone(t, family)
		},
	}
	for name, run := range tests {
		t.Run(name, run)
	}
}

func envOf(t *testing.T, spec remote.Unit) string {
	t.Helper()
	result, err := callTool(t, started(t, process.Options{}, spec, nil), "env", `{}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result.Output + "\n"
}

func wantDigestError(t *testing.T, p sdk.Plugin) {
	t.Helper()
	if _, err := callHook(t, p, "warm"); !errors.Is(err, process.ErrDigest) || !strings.Contains(err.Error(), "approve the plugin again") {
		t.Errorf("error %v", err)
	}
}

// wantAnswer lets a raw guest ask the host, and compares what it got.
func wantAnswer(t *testing.T, args, want string) {
	t.Helper()
	spec := guestSpec(t, "rawasker")
	spec.Description = rawDescription("rawasker")
	spec.Description.Hooks = nil
	result, err := callTool(t, started(t, process.Options{}, spec, nil), "echo", args, nil)
	if err != nil || !strings.HasPrefix(result.Output, want) {
		t.Errorf("%+v, %v; want %q", result, err, want)
	}
}

// heldGuest is a guest whose end, and that of all it starts, can be seen.
func heldGuest(t *testing.T) (remote.Unit, *os.File) {
	t.Helper()
	spec := guestSpec(t, "plain")
	path := filepath.Join(spec.Root, "hold")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	spec.Env[holdFile] = path
	spec.Grants = append(spec.Grants, sdk.Capability{Name: sdk.CapabilityWrite, Scope: []string{spec.Root}})
	return spec, r
}

func startGrandchild(t *testing.T, p sdk.Plugin) {
	t.Helper()
	if _, err := callTool(t, p, "child", `{}`, nil); err != nil {
		t.Fatal(err)
	}
}

// wantGone waits for the end of the FIFO.
func wantGone(t *testing.T, family *os.File) {
	t.Helper()
	if err := family.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(family); err != nil {
		t.Errorf("a process still runs: %v", err)
	}
}

// hostRole makes the test binary a host with one plugin.
const hostRole = "TENON_TEST_HOST"

// beHost starts the plugin whose FIFO is named, and waits for its own end.
func beHost(hold string) {
	exe, err := filepath.Abs(os.Args[0])
	if err != nil {
		return
	}
	spec := remote.Unit{Description: description("plain"), Command: []string{exe}, Env: map[string]string{guestKind: "plain", holdFile: hold},
		Grants: []sdk.Capability{{Name: sdk.CapabilityWrite, Scope: []string{filepath.Dir(hold)}}},
	}
	p, err := process.New(process.Options{}).Open(spec)
	if err != nil {
		return
	}
	if p.Start(context.Background(), &testHost{log: (&logged{}).logger()}) != nil {
		return
	}
	tool := p.(sdk.ToolSource).Tools()[0]
	result, err := tool.Execute(context.Background(), &sdk.ToolCall{Args: []byte(`{}`)})
	if err != nil {
		return
	}
	_, _ = os.Stdout.WriteString(result.Output + "\n")
	wait()
}

// connectAsStranger connects to the socket of a plugin that starts, as another process than the host, and returns what comes of it. Once
// a plugin has started the socket is gone.
func connectAsStranger(t *testing.T, config *tls.Config) error {
	t.Helper()
	pattern := filepath.Join(os.Getenv("TMPDIR"), "plugin-dir*", "plugin*")
	pidOf(t, started(t, process.Options{}, guestSpec(t, "plain"), nil))
	sockets, err := filepath.Glob(pattern)
	if err != nil || len(sockets) != 0 {
		t.Errorf("sockets of a plugin that has started: %v, %v", sockets, err)
	}
	p := started(t, process.Options{}, guestSpec(t, "slowstart"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	calling := make(chan struct{})
	go func() { // ends with cancel; waited for below
		defer close(calling)
		_, _ = p.(sdk.ToolSource).Tools()[0].Execute(ctx, &sdk.ToolCall{})
	}()
	defer func() { cancel(); <-calling }()
	var conn net.Conn
	for deadline := time.Now().Add(time.Minute); conn == nil; runtime.Gosched() { // until the plugin listens
		if sockets, err = filepath.Glob(pattern); err == nil && len(sockets) > 0 {
			conn, err = net.Dial("unix", sockets[0])
		}
		if time.Now().After(deadline) {
			t.Fatalf("sockets %v, %v", sockets, err)
		}
	}
	if info, err := os.Stat(filepath.Dir(sockets[0])); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can reach the socket: %v, %v", info.Mode(), err)
	}
	config.InsecureSkipVerify, config.NextProtos = true, []string{"h2"}
	stranger := tls.Client(conn, config)
	defer func() { _ = stranger.Close() }()
	_ = stranger.SetDeadline(time.Now().Add(30 * time.Second))
	_, err = stranger.Read(make([]byte, 1))
	return err
}
