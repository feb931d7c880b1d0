//go:build !windows

package host_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
)

// crashFiles is how many files the session of the crash test wrote.
const crashFiles = 60

// TestRevertCrashHelper is the process that is killed: it undoes and redoes until it dies.
func TestRevertCrashHelper(t *testing.T) {
	dir := os.Getenv("TENON_REVERT_CRASH")
	if dir == "" {
		return // run by TestRevertCrash alone
	}
	w := &worktree{t: t, dir: filepath.Join(dir, "work")}
	k := startWork(t, w, filepath.Join(dir, "data"), nil)
	id := os.Getenv("TENON_REVERT_SESSION")
	fmt.Println("ready")
	for i := 0; ; i++ { // two prompts are undone and redone
		if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id, Redo: i%4 >= 2}); err != nil && !errors.Is(err, host.ErrNothing) {
			t.Fatal(err)
		}
	}
}

// If a process is killed at any point of undo or redo, the next host finds files and session either both as before
// or both as after it.
func TestRevertCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &worktree{t: t, dir: filepath.Join(dir, "work")}
	if out, err := exec.Command("git", "init", "-q", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range crashFiles / 2 {
		w.write(fmt.Sprintf("d%d/old%d", i%5, i), "old")
	}
	undone := w.state()
	var half map[string]string // after the first prompt
	id := ""
	t.Run("setup", func(t *testing.T) {
		k := startWork(t, &worktree{t: t, dir: w.dir}, filepath.Join(dir, "data"), nil)
		id = k.session()
		k.turn(id, k.bash, func() {
			for i := range crashFiles / 3 {
				k.write(fmt.Sprintf("d%d/new%d", i%5, i), "first")
			}
		})
		half = w.state()
		k.turn(id, k.bash, func() {
			for i := range crashFiles {
				k.write(fmt.Sprintf("d%d/new%d", i%5, i), "new")
				if i < crashFiles/2 {
					k.write(fmt.Sprintf("d%d/old%d", i%5, i), "changed")
				}
			}
		})
	})
	done := w.state()
	for round := range rounds(t, "TENON_CRASH_ROUNDS", 20) {
		killRevert(t, dir, id, time.Duration(round*37%200)*time.Millisecond)
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			v := &worktree{t: t, dir: w.dir}
			k := startWork(t, v, filepath.Join(dir, "data"), nil)
			s, err := k.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			switch first := k.messages(id)[0].Info.Head().ID; {
			case s.Revert == nil:
				v.is("not undone", done)
			case s.Revert.MessageID == first:
				v.is("undone", undone)
			default:
				v.is("the second prompt undone", half)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// killRevert starts the helper and kills it some time after it began.
func killRevert(t *testing.T, dir, session string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRevertCrashHelper$")
	cmd.Env = append(os.Environ(), "TENON_REVERT_CRASH="+dir, "TENON_REVERT_SESSION="+session)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	if ready == "ready\n" {
		<-time.After(after)
	}
	killed := errors.Join(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait() // it was killed
	if err != nil || ready != "ready\n" || killed != nil {
		t.Fatalf("the helper said %q: %v, %v", ready, err, killed)
	}
}
