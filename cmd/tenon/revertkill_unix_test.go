//go:build unix

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// revertKillRounds is how often TestRevertKilled kills a process; TENON_REVERT_KILL_ROUNDS sets another number.
const revertKillRounds = 5

// TestRevertKilled kills "session revert" and "session unrevert" by SIGKILL: after a random time, or as soon as it writes down what it
// is about to do. The next command finds files and messages both as before it or both as after it.
func TestRevertKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	rounds := roundsOf(t, "TENON_REVERT_KILL_ROUNDS", revertKillRounds)
	s := fakellm.New(t)
	s.Handle(func(r fakellm.Request) fakellm.Reply {
		if len(r.Results()) > 0 {
			return fakellm.Text("Done.")
		}
		return fakellm.Call("bash", `{"command":"for i in $(seq 100); do echo new > d$((i % 5))/new$i; echo changed > d$((i % 5))/old$i; done; rm d0/old5","description":"write"}`)
	})
	p := newProcess(t, s.URL())
	if out, err := exec.Command("git", "init", "-q", p.work).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	for i := range 100 {
		name := filepath.Join(p.work, fmt.Sprintf("d%d/old%d", (i+1)%5, i+1))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("old\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	undone := filesOf(t, p.work)
	p.output(t, 0, "run", "--auto", "--title", "t", "work")
	done := filesOf(t, p.work)
	messages := p.messages(t)
	begun := time.Now()
	p.output(t, 0, "session", "revert")
	whole := time.Since(begun)
	reverted, cut := true, 0
	for round := range rounds {
		if p.killRevert(t, reverted, round%2 == 0, whole) {
			cut++
		}
		p.output(t, 0, "session", "diff") // opens the project
		list, _ := p.output(t, 0, "session", "list", "--format", "json")
		var sessions []struct{ Revert *struct{} }
		if err := json.Unmarshal([]byte(list), &sessions); err != nil || len(sessions) != 1 {
			t.Fatalf("session list says %s, %v", list, err)
		}
		reverted = sessions[0].Revert != nil
		want := done
		if reverted {
			want = undone
		}
		if diff := cmp.Diff(want, filesOf(t, p.work)); diff != "" {
			t.Fatalf("round %d: the prompt is undone: %t, and the files are (-want +have):\n%s", round, reverted, diff)
		}
		if diff := cmp.Diff(messages, p.messages(t)); diff != "" {
			t.Fatalf("round %d: the messages are (-want +have):\n%s", round, diff)
		}
	}
	t.Logf("%d rounds, %d of them cut off with work to finish", rounds, cut)
}

// killRevert starts to undo, or to bring back, and kills that. It reports whether there was something left to finish.
func (p *process) killRevert(t *testing.T, reverted, atWork bool, whole time.Duration) bool {
	t.Helper()
	cmd := p.command("session", "revert")
	if reverted {
		cmd = p.command("session", "unrevert")
	}
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // ends with the process; waited for below
		defer close(ended)
		_ = cmd.Wait() // killed, or done before that
	}()
	deadline := time.After(rand.N(whole + whole/4))
	if atWork {
		p.waitForJournal(t, ended)
		deadline = time.After(rand.N(5 * time.Millisecond))
	}
	select {
	case <-deadline:
	case <-ended:
	}
	_ = cmd.Process.Kill() // unless it is done
	<-ended
	return len(p.journals(t)) > 0
}

// waitForJournal returns when a process has written down what it is about to do, or ended.
func (p *process) waitForJournal(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for len(p.journals(t)) == 0 {
		select {
		case <-tick.C:
		case <-ended:
			return
		}
	}
}

func (p *process) journals(t *testing.T) []string {
	t.Helper()
	for _, e := range p.env {
		if dir, ok := strings.CutPrefix(e, "TENON_DATA_DIR="); ok {
			list, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "pending", "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
	}
	t.Fatal("TENON_DATA_DIR is not set")
	return nil
}

// messages returns the messages of the latest session as they are exported.
func (p *process) messages(t *testing.T) []any {
	t.Helper()
	list, _ := p.output(t, 0, "session", "list", "--format", "json")
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(list), &sessions); err != nil || len(sessions) != 1 {
		t.Fatalf("session list says %s, %v", list, err)
	}
	out, _ := p.output(t, 0, "session", "export", sessions[0].ID)
	var export struct{ Messages []any }
	if err := json.Unmarshal([]byte(out), &export); err != nil || len(export.Messages) == 0 {
		t.Fatalf("session export says %s, %v", out, err)
	}
	return export.Messages
}

// filesOf returns the files of a directory but .git, with their contents.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, dir)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
