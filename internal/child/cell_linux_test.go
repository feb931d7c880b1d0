package child_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
)

const (
	asCellHost = "TENON_TEST_CELL_HOST"
	guarded    = "guarded" // printed once the guard knows the command
)

// cellHost starts a confined command that never ends, and what that starts, and waits for it.
func cellHost() int {
	cmd := exec.Command("sh", "-c", `touch "$TMPDIR/x" && echo "$TMPDIR"; sleep 600 & sleep 600 </dev/null`)
	cmd.Stdout, cmd.Env = os.Stdout, os.Environ()
	child.Prepare(cmd)
	if _, err := child.Start(cmd, rights(policy())); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(guarded)
	_ = cmd.Wait()
	return 0
}

func rights(p confine.Policy) func() (confine.Policy, error) {
	return func() (confine.Policy, error) { return p, nil }
}

func policy() confine.Policy { return confine.Policy{Read: []string{"/"}, Write: confine.Devices()} }

// When a host is killed, a confined command, all of its group and its temporary directory are removed as well.
func TestCellHostKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asCellHost+"=1", "TMPDIR="+t.TempDir())
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	var temp string
	for range 2 { // of the command and of its host
		line, err := out.ReadString('\n')
		if line = strings.TrimSpace(line); err != nil || line != guarded && !filepath.IsAbs(line) {
			t.Fatalf("the host said %q, %v", line, err)
		}
		if line != guarded {
			temp = line
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ends with the last process that holds the pipe
		_, err := out.ReadByte()
		ended <- err
	}()
	timeout, look := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	select {
	case <-ended:
	case <-timeout:
		t.Fatal("the command outlived the host")
	}
	_ = cmd.Wait()
	for { // nothing tells when the guard has removed it
		if _, err := os.Stat(temp); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-look.C:
		case <-timeout:
			t.Fatal("the temporary directory outlived the host")
		}
	}
}

// A cell ends without a trace, whether or not its command could be started, and its command does not have the thread that started it.
func TestCell(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	cmd := exec.Command("sh", "-c", `mkdir "$TMPDIR/a" && touch "$TMPDIR/a/b" && chmod 500 "$TMPDIR/a" && ! touch "$1"`, "sh", filepath.Join(dir, "outside"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/nowhere"}
	child.Prepare(cmd)
	leave, err := child.Start(cmd, rights(policy()))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := leave(); err != nil {
		t.Error(err)
	}
	missing := filepath.Join(dir, "missing")
	for name, c := range map[string]struct {
		program string
		policy  confine.Policy
		want    error
	}{
		"no program":   {missing, policy(), fs.ErrNotExist},
		"no directory": {"/bin/true", confine.Policy{Write: []string{missing}}, child.ErrConfine},
	} {
		cmd := exec.Command(c.program)
		child.Prepare(cmd)
		if _, err := child.Start(cmd, rights(c.policy)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// npx works in a cell, with npm's packages if the cell may write to them. The programs that it installs stay in the cell, where no
// other process runs them.
func TestCellNPX(t *testing.T) {
	t.Parallel()
	for name, writable := range map[string]bool{"packages": true, "no packages": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			shared, pkg := filepath.Join(dir, "home/.npm/_cacache"), filepath.Join(dir, "greet")
			if err := errors.Join(os.MkdirAll(shared, 0o700), os.Mkdir(pkg, 0o700),
				os.WriteFile(filepath.Join(pkg, "package.json"), []byte(`{"name": "greet", "version": "1.0.0", "bin": "greet.sh"}`), 0o600),
				os.WriteFile(filepath.Join(pkg, "greet.sh"), []byte("#!/bin/sh\nmkdir -p \"$npm_config_cache/_cacache/tmp\" && readlink -f \"$npm_config_cache/_cacache\"\n"), 0o700)); err != nil {
				t.Fatal(err)
			}
			p := policy()
			if writable {
				p.Write = append(p.Write, shared)
			}
			cmd := exec.Command("npx", "--offline", "--yes", "--package", pkg, "--", "greet")
			cmd.Dir = "/"
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "npm_config_update_notifier=false"}
			var out, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &stderr
			child.Prepare(cmd)
			leave, err := child.Start(cmd, rights(p))
			if err != nil {
				t.Fatal(err)
			}
			want := shared
			if !writable {
				temp, _ := child.Lookup(cmd.Env, "TMPDIR")
				want = filepath.Join(temp, "npm/_cacache")
			}
			if err := cmd.Wait(); err != nil || out.String() != want+"\n" {
				t.Errorf("npx: %v; %q, want %q\n%s", err, out.String(), want, stderr.String())
			}
			if err := leave(); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(filepath.Dir(shared)); err != nil || len(left) != 1 {
				t.Errorf("npm's directory has %v, %v", left, err)
			}
		})
	}
}
