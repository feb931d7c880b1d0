package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// confinedHost makes the test binary a host whose plugin tries what it must not. Its value is a directory made by TestConfined.
const confinedHost = "TENON_TEST_CONFINED_HOST"

// A plugin reaches its package, its temporary directory, its data and its grants, and nothing else of the user; unless the user wants
// it otherwise. It is so as root and as a user without privileges.
func TestConfined(t *testing.T) {
	t.Parallel()
	abi, err := confine.Supported()
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Getuid() == 0 {
		users["another user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := confinedHostOf(t, user)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "attacked\n") {
				t.Fatalf("%s, %v", out, err)
			}
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "LEAK") || strings.HasPrefix(line, "BROKEN") {
					t.Error(strings.TrimSpace(line))
				}
			}
			left, err := os.ReadDir(filepath.Join(cmd.Dir, "tmp"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind (ABI %d): %v, %v", abi, left, err)
			}
		})
	}
}

// confinedHostOf makes what a host and its plugin need, for a user, and returns the host.
func confinedHostOf(t *testing.T, user *syscall.Credential) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "confined") // other users do not reach t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	host := filepath.Join(dir, "host")
	if out, err := exec.CommandContext(t.Context(), "install", os.Args[0], host).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{"home/.ssh", "package", "granted", "project/src", "config", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"home/.ssh/id", "home/note", "package/file", "granted/file", "project/src/file", "project/other", "config/lock"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if user != nil {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Chown(path, int(user.Uid), int(user.Gid))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), host)
	cmd.Dir = dir
	cmd.Env = []string{confinedHost + "=" + dir, "HOME=" + dir + "/home", "TMPDIR=" + dir + "/tmp", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	return cmd
}

// confinedTestHost is a host with a project.
type confinedTestHost struct {
	testHost
	project sdk.Project
}

func (h *confinedTestHost) Project() sdk.Project { return h.project }

// A link of the project that leads out of it does not extend a grant, nor does a directory with tenon's own files in it, or in one of those.
func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, worktree := filepath.Join(dir, "home", "config"), filepath.Join(dir, "project")
	cache := filepath.Join(dir, "cache")
	for _, path := range []string{own + "/x", cache + "/wasm", dir + "/elsewhere/tenon.json", worktree, filepath.Join(dir, "other")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../other", filepath.Join(worktree, "link")); err != nil {
		t.Fatal(err)
	}
	for scope, want := range map[string]string{
		"$PROJECT/link": "leads out of", filepath.Join(dir, "home"): "tenon's own", own + "/x": "tenon's own",
		cache + "/wasm": "tenon's own", filepath.Join(dir, "elsewhere"): "tenon's own",
		filepath.Join(dir, "missing"): "no such file",
	} {
		spec := guestSpec(t, "plain")
		spec.Grants = []sdk.Capability{{Name: sdk.CapabilityWrite, Scope: []string{scope}}}
		spec.ConfigFiles = []string{dir + "/elsewhere/tenon.json"}
		p, err := process.New(process.Options{}).Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		host := &confinedTestHost{testHost{log: slog.New(slog.DiscardHandler)}, sdk.Project{Worktree: worktree, ConfigDir: own, CacheDir: cache}}
		if err := p.Start(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		if _, err := callHook(t, p, "warm"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("grant of %s: %v, want %q", scope, err, want)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// hostConfined prints LEAK for what a plugin can do and should not, and BROKEN for the opposite.
func hostConfined(dir string) {
	attack := func(unconfined bool, wants map[string]bool) {
		spec := remote.Unit{
			Description: description("plain"), Command: []string{filepath.Join(dir, "host")}, Root: filepath.Join(dir, "package"), DataDir: filepath.Join(dir, "config", "data"),
			Env: map[string]string{guestKind: "plain"},
			Grants: []sdk.Capability{
				{Name: sdk.CapabilityRead, Scope: []string{"$PROJECT/src", filepath.Join(dir, "project", "missing")}},
				{Name: sdk.CapabilityWrite, Scope: []string{filepath.Join(dir, "granted")}},
			},
		}
		p, err := process.New(process.Options{Unconfined: func(string) bool { return unconfined }}).Open(spec)
		if err != nil {
			fmt.Println("BROKEN", err)
			return
		}
		host := &confinedTestHost{testHost{log: slog.New(slog.NewTextHandler(os.Stdout, nil))}, sdk.Project{Worktree: filepath.Join(dir, "project"), ConfigDir: filepath.Join(dir, "config")}}
		if err := p.Start(context.Background(), host); err != nil {
			fmt.Println("BROKEN", err)
		}
		for call, want := range wants {
			id, path, _ := strings.Cut(call, " ")
			args, _ := json.Marshal(strings.Replace(path, "DIR", dir, 1))
			for _, tool := range p.(sdk.ToolSource).Tools() {
				if tool.Definition().ID != id {
					continue
				}
				switch _, err := tool.Execute(context.Background(), &sdk.ToolCall{Tool: id, Args: args}); {
				case err == nil && !want:
					fmt.Println("LEAK", call)
				case err != nil && want:
					fmt.Println("BROKEN", call, err)
				case err != nil && !strings.Contains(err.Error(), "permission denied"):
					fmt.Println("BROKEN", call, "want permission denied:", err)
				}
			}
		}
		if err := p.Close(context.Background()); err != nil {
			fmt.Println("BROKEN", err)
		}
	}
	environ := fmt.Sprintf("read /proc/%d/environ", os.Getpid())
	attack(false, map[string]bool{
		"read DIR/home/.ssh/id": false, "read DIR/home/note": false, "read DIR/project/other": false, "read DIR/config/lock": false, environ: false,
		"write DIR/home/new": false, "write DIR/new": false, "write DIR/package/file": false, "write DIR/project/src/file": false, "write DIR/tmp/new": false,
		"read DIR/package/file": true, "read DIR/granted/file": true, "write DIR/granted/new": true, "read DIR/project/src/file": true,
		"write $TEMP/new": true, "write DIR/config/data/new": true, "read /etc/passwd": true, "write /dev/null": true,
	})
	attack(true, map[string]bool{"read DIR/home/.ssh/id": true, "write DIR/home/new": true})
	fmt.Println("attacked")
}
