//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// killRounds is how often TestKilledAtAnyMoment kills a run; TENON_KILL_ROUNDS sets another number.
const killRounds = 12

// roundsOf returns how often a test does what it does: the number that the variable has, if it is set.
func roundsOf(t *testing.T, variable string, usual int) int {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		return usual
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestKilledAtAnyMoment kills a streaming turn with tool calls by SIGKILL after a random time. Whatever the
// run reported before must be in the store, nothing may be left open, and the next run continues.
func TestKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	rounds := roundsOf(t, "TENON_KILL_ROUNDS", killRounds)
	s := fakellm.New(t)
	s.Handle(func(r fakellm.Request) fakellm.Reply {
		if strings.Contains(r.LastUser(), "go on") {
			return fakellm.Text("Gone on.")
		}
		if len(r.Results()) < 3 {
			return slowly("I will call a tool now, and say so at some length.").Call("bash", `{"command":"echo one; echo two","description":"speak"}`).FlushEach()
		}
		return slowly("All of it is done, and this is what came of it.").FlushEach()
	})
	p := newProcess(t, s.URL())
	begun := time.Now()
	p.output(t, 0, "run", "--auto", "--title", "whole", "work")
	whole := time.Since(begun)
	reported := 0
	for range rounds {
		reported += killOnce(t, p, time.Duration(rand.Int64N(int64(whole))))
	}
	t.Logf("%d rounds, %d parts reported", rounds, reported)
	if out, _ := p.output(t, 0, "doctor"); !strings.Contains(out, "database") {
		t.Errorf("doctor says nothing of the database: %s", out)
	}
}

// slowly streams the words one by one.
func slowly(text string) fakellm.Reply {
	var r fakellm.Reply
	for _, word := range strings.SplitAfter(text, " ") {
		r = r.Text(word).Pause(2 * time.Millisecond)
	}
	return r
}

// killOnce kills one run after a while and returns how many parts it had reported.
func killOnce(t *testing.T, p *process, after time.Duration) int {
	t.Helper()
	cmd := p.command("run", "--format", "json", "--auto", "--title", "killed", "work")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // killed, or done before that
	timer.Stop()
	session, parts := reportedParts(t, out.Bytes())
	if session == "" {
		return 0
	}
	if answer, _ := p.output(t, 0, "run", "-s", session, "go on"); answer != "Gone on.\n" {
		t.Errorf("the next run says %q", answer)
	}
	export, _ := p.output(t, 0, "session", "export", session)
	stored := exportedParts(t, []byte(export))
	for id, part := range parts {
		if diff := cmp.Diff(part, stored[id]); diff != "" {
			t.Errorf("part %s was reported and is stored as (-reported +stored):\n%s", id, diff)
		}
	}
	if strings.Contains(export, `"status": "running"`) || strings.Contains(export, `"status": "pending"`) {
		t.Errorf("a call is still open: %s", export)
	}
	return len(parts)
}

// reportedParts reads what a run printed; its last line may be cut.
func reportedParts(t *testing.T, out []byte) (session string, parts map[string]map[string]any) {
	t.Helper()
	parts = map[string]map[string]any{}
	for line := range bytes.Lines(out) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var l struct {
			SessionID string
			Part      map[string]any
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		session = l.SessionID
		if id, ok := l.Part["id"].(string); ok {
			parts[id] = l.Part
		}
	}
	return session, parts
}

func exportedParts(t *testing.T, export []byte) map[string]map[string]any {
	t.Helper()
	var session struct {
		Messages []struct{ Parts []map[string]any }
	}
	if err := json.Unmarshal(export, &session); err != nil {
		t.Fatal(err)
	}
	parts := map[string]map[string]any{}
	for _, m := range session.Messages {
		for _, p := range m.Parts {
			parts[p["id"].(string)] = p
		}
	}
	return parts
}
