package confine_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/confine"
)

// need skips where the kernel cannot do it, and returns the ABI.
func need(t testing.TB) int {
	t.Helper()
	abi, err := confine.Supported()
	if err != nil {
		t.Skip(err)
	}
	return abi
}

// build returns the ruleset of a policy, which the test closes.
func build(t testing.TB, p confine.Policy) *confine.Ruleset {
	t.Helper()
	r, err := confine.New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// shell runs a script confined and returns its output.
func shell(t *testing.T, r *confine.Ruleset, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := r.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // scripts say themselves what failed
	return out.String()
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFiles(t *testing.T) {
	t.Parallel()
	need(t)
	home := t.TempDir()
	project, cache := filepath.Join(home, "src/project"), filepath.Join(home, ".cache/tool")
	for _, dir := range []string{project, cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, home+"/.ssh/id", "key")
	write(t, home+"/.config/gh/hosts", "token")
	write(t, home+"/.config/editor", "editor")
	write(t, home+"/notes", "notes")
	write(t, project+"/a", "a")
	if err := os.Symlink(home+"/.ssh", home+"/keys"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home+"/elsewhere", home+"/.aws"); err != nil { // hidden, and so is where it leads
		t.Fatal(err)
	}
	write(t, home+"/elsewhere/credentials", "aws")
	if err := os.Symlink("data/azure", home+"/.azure"); err != nil { // the directory that it leads to is created later
		t.Fatal(err)
	}
	write(t, home+"/data/file", "data")
	r := build(t, confine.Policy{
		Write: append(confine.Devices(), project, cache), Read: []string{"/"},
		Hide: []string{home + "/.ssh", home + "/.config/gh", home + "/.aws", home + "/.azure", home + "/.netrc"},
	})
	write(t, home+"/.netrc", "later")
	write(t, home+"/data/azure/token", "later")
	tests := map[string]struct {
		script string
		ok     bool
	}{
		"write in the project":       {"echo b > " + project + "/b", true},
		"directories in the project": {"mkdir -p " + project + "/d/e && mv " + project + "/a " + project + "/d/e/a && rm -r " + project + "/d", true},
		"write a cache":              {"echo b > " + cache + "/b", true},
		"write next to the cache":    {"echo b > " + home + "/.cache/other", false},
		"make a directory at home":   {"mkdir " + home + "/new", false},
		"overwrite a file":           {"echo b > " + home + "/notes", false},
		"truncate a file":            {"truncate -s 0 " + home + "/notes", false},
		"remove a file":              {"rm -f " + home + "/notes", false},
		"move out":                   {"mv " + project + "/b " + home + "/b", false},
		"link a secret in":           {"ln " + home + "/.ssh/id " + project + "/id", false},
		"move a secret in":           {"mv " + home + "/.ssh " + project + "/ssh", false},
		"read a file":                {"cat " + home + "/notes", true},
		"read a program":             {"/bin/ls /usr/bin >/dev/null", true},
		"read settings":              {"cat " + home + "/.config/editor", true},
		"read a secret":              {"cat " + home + "/.ssh/id", false},
		"read a secret by a link":    {"cat " + home + "/keys/id", false},
		"read a secret in .config":   {"cat " + home + "/.config/gh/hosts", false},
		"list a secret":              {"ls " + home + "/.ssh", false},
		"list above a secret":        {"ls " + home, false},
		"a secret that is a link":    {"cat " + home + "/elsewhere/credentials", false},
		"a secret that came later":   {"cat " + home + "/.netrc", false},
		"a link that led nowhere":    {"cat " + home + "/data/azure/token", false},
		"next to where it leads":     {"cat " + home + "/data/file", true},
		"devices":                    {"echo x > /dev/null && head -c 1 /dev/urandom >/dev/null", true},
		"other devices":              {"cat < /dev/kmsg", false},
		"a device file":              {"mknod " + project + "/mem c 1 3", false},
		"mount":                      {"mount -t tmpfs none " + project, false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) { // in turn: one reads what another writes
			out := shell(t, r, "set -e\n{ "+c.script+"; } && echo done")
			if got := strings.HasSuffix(out, "done\n"); got != c.ok {
				t.Errorf("%s: done %v, want %v: %s", c.script, got, c.ok, out)
			}
		})
	}
	if text, err := os.ReadFile(home + "/notes"); string(text) != "notes" {
		t.Errorf("notes are %q, %v", text, err)
	}
}

// A ruleset notices new names in a directory that is allowed name by name.
func TestStale(t *testing.T) {
	t.Parallel()
	need(t)
	home := t.TempDir()
	policy := confine.Policy{Read: []string{home}, Hide: []string{home + "/.ssh"}}
	r := build(t, policy)
	if r.Stale() {
		t.Error("stale although nothing changed")
	}
	write(t, home+"/new", "text")
	if !r.Stale() {
		t.Error("not stale although a file came")
	}
	if r := build(t, policy); r.Stale() {
		t.Error("stale although it was just built")
	}
}

func TestPolicyErrors(t *testing.T) {
	t.Parallel()
	need(t)
	home := t.TempDir()
	write(t, home+"/.ssh/id", "key")
	var conflict *confine.ConflictError
	if _, err := confine.New(confine.Policy{Write: []string{home}, Hide: []string{home + "/.ssh"}}); !errors.As(err, &conflict) || conflict.Hidden != home+"/.ssh" {
		t.Errorf("a writable directory with a secret: %v, want a conflict that names it", err)
	}
	if _, err := confine.New(confine.Policy{Write: []string{home + "/none"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a writable path that does not exist: %v", err)
	}
	if err := os.Symlink("loop", home+"/loop"); err != nil {
		t.Fatal(err)
	}
	r := build(t, confine.Policy{Read: []string{home + "/loop"}}) // no reason to refuse all commands
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ran := false
	if err := r.Do(func() error { ran = true; return nil }); err == nil || ran {
		t.Errorf("Do after Close: %v, ran %v", err, ran)
	}
}

// Nothing but the thread is confined: neither this goroutine nor any that starts later.
func TestOnlyTheThread(t *testing.T) {
	t.Parallel()
	need(t)
	r := build(t, confine.Policy{})
	dir := t.TempDir()
	for range 50 {
		var inside error
		err := r.Do(func() error {
			if unix.Gettid() == unix.Getpid() {
				t.Error("confined the main thread")
			}
			_, inside = os.ReadDir(dir)
			return nil
		})
		if err != nil || !errors.Is(inside, os.ErrPermission) {
			t.Fatalf("Do: %v, inside %v; want EACCES inside", err, inside)
		}
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// The main thread is never confined, also when the goroutine of Do gets it.
func TestMainThread(t *testing.T) {
	t.Parallel()
	need(t)
	out, err := helper(t, "main", nil).CombinedOutput()
	if string(out) != "well\n" || err != nil {
		t.Errorf("%s, %v", out, err)
	}
}

// The thread of a confined command has started no process before: its end would end processes with a parent death signal. (With the
// scope for signals, ABI 6, the kernel does not let it send that signal out of the sandbox; older ones do.)
func TestOthersOutliveTheThread(t *testing.T) {
	t.Parallel()
	need(t)
	r := build(t, confine.Policy{Write: confine.Devices(), Read: []string{"/"}})
	var others []*exec.Cmd
	for range 20 {
		var held sync.WaitGroup
		release := make(chan struct{})
		for range 3 { // which are on threads of their own
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			others = append(others, cmd)
			held.Add(1)
			go func() { // ends with release
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				if err := cmd.Start(); err != nil {
					t.Error(err)
				}
				held.Done()
				<-release
			}()
		}
		held.Wait()
		close(release) // the threads are free for any goroutine
		for range 5 {
			err := r.Do(func() error {
				list, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", unix.Gettid()))
				if len(list) > 0 || err != nil {
					t.Errorf("the thread has children %q, %v", list, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, cmd := range others {
		var status unix.WaitStatus
		if pid, err := unix.Wait4(cmd.Process.Pid, &status, unix.WNOHANG, nil); pid != 0 || err != nil {
			t.Errorf("process %d ended with a thread: %v, %v", cmd.Process.Pid, status, err)
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

// Attacks on this process from within fail, as root and as a user without privileges.
func TestAttacks(t *testing.T) {
	t.Parallel()
	abi := need(t)
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Getuid() == 0 {
		users["another user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := helper(t, "host", user).CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "attacked\n") {
				t.Fatalf("%s, %v", out, err)
			}
			for line := range strings.Lines(string(out)) {
				if abi < 6 && strings.Contains(line, "signal") {
					continue
				}
				if strings.HasPrefix(line, "LEAK") {
					t.Error(strings.TrimSpace(line))
				}
			}
		})
	}
}

// helper returns the test binary as another process.
func helper(t *testing.T, r string, user *syscall.Credential) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "confine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { // for other users; the directory of the test binary is not
		t.Fatal(err)
	}
	path := filepath.Join(dir, "host")
	// By another process: a file that this one writes could not be run while a process it starts meanwhile has it open. Unlike cp, install does
	// not let the umask decide whether another user may run it.
	if out, err := exec.CommandContext(t.Context(), "install", os.Args[0], path).CombinedOutput(); err != nil {
		t.Fatalf("copy the test binary: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Dir, cmd.Env = "/", []string{role + "=" + r, "SECRET=of-the-host", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// BenchmarkDo is the cost of a confined command, and of one that is not.
func BenchmarkDo(b *testing.B) {
	need(b)
	home, err := os.UserHomeDir()
	if err != nil {
		b.Fatal(err)
	}
	r := build(b, confine.Policy{Write: append(confine.Devices(), b.TempDir()), Read: []string{"/"}, Hide: []string{home + "/.ssh", home + "/.config/gh", "/tmp"}})
	for name, do := range map[string]func(func() error) error{
		"confined": func(start func() error) error { return r.Do(start) },
		"free":     func(start func() error) error { return start() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				if err := do(cmd.Start); err != nil {
					b.Fatal(err)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
