//go:build unix

package main_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// storeKills is how often each command is killed; TENON_CRASH_ROUNDS sets another number.
const storeKills = 2

// withData returns the same installation with its own data directory.
func (p *process) withData(dir string) *process {
	q := *p
	q.env = nil
	for _, kv := range p.env {
		if !strings.HasPrefix(kv, "TENON_DATA_DIR=") {
			q.env = append(q.env, kv)
		}
	}
	q.env = append(q.env, "TENON_DATA_DIR="+dir)
	return &q
}

// copied returns the installation with a copy of the database.
func (p *process) copied(t *testing.T, database string) *process {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tenon.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p.withData(dir)
}

func (p *process) database() string {
	for _, kv := range p.env {
		if dir, ok := strings.CutPrefix(kv, "TENON_DATA_DIR="); ok {
			return filepath.Join(dir, "tenon.db")
		}
	}
	return ""
}

// stored returns what the commands show of the store: all sessions, the latest one whole, and what a search finds. The tests of
// host/store/sqlite compare all rows.
func (p *process) stored(t *testing.T) string {
	t.Helper()
	if out, _ := p.output(t, 0, "doctor", "--offline"); !strings.Contains(out, "is intact") {
		t.Fatalf("doctor: %s", out)
	}
	all, _ := p.output(t, 0, "session", "list", "--all", "--archived", "--format", "json", "-n", "1000")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(all), &list); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(all)
	if len(list) > 0 {
		out, _ := p.output(t, 0, "session", "export", "--full", list[0].ID)
		b.WriteString(out)
	}
	for _, word := range []string{"text", "gen2"} {
		out, _ := p.output(t, 0, "session", "search", "--all", "--archived", "-n", "1000", "--format", "json", word)
		b.WriteString(out)
	}
	return b.String()
}

// killed runs a command and kills it after a random time below most, and reports whether it was done before.
func (p *process) killed(t *testing.T, most time.Duration, args ...string) (done bool) {
	t.Helper()
	cmd := p.command(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(rand.Int64N(int64(most))), func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // killed, or done
	timer.Stop()
	return cmd.ProcessState.Success()
}

// exported writes a file to import: a session with a child and large outputs, whose texts all have one word.
func exported(t *testing.T, word string) string {
	t.Helper()
	file := func(id, parent string, messages int) map[string]any {
		list := []any{}
		for i := range messages {
			m := fmt.Sprintf("msg_%s%04d", id, i)
			list = append(list, map[string]any{
				"info": map[string]any{"id": m, "sessionID": "ses_" + id, "role": "user", "time": map[string]any{"created": 1}, "agent": "build",
					"model": map[string]any{"providerID": "p", "modelID": "m"}},
				"parts": []any{map[string]any{"id": fmt.Sprintf("prt_%s%04d", id, i), "sessionID": "ses_" + id, "messageID": m, "type": "text",
					"text": strings.Repeat(word+" and more words ", 100)}},
			})
		}
		info := map[string]any{"id": "ses_" + id, "title": "title of " + word, "time": map[string]any{"created": 1, "updated": 2, "archived": 3}}
		if parent != "" {
			info["parentID"] = "ses_" + parent
		}
		return map[string]any{"info": info, "messages": list}
	}
	f := file("a", "", 400)
	f["children"] = []any{file("b", "a", 100)}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), word+".json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKilledStoreCommands kills the commands that change the store as a whole. Before and after are the only states there are.
func TestKilledStoreCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	p := newProcess(t, fakellm.New(t).URL())
	first, second := exported(t, "gen1"), exported(t, "gen2")
	p.output(t, 0, "session", "import", first)
	unzipped := filepath.Join(t.TempDir(), "old.db")
	unzip(t, "../../host/store/sqlite/testdata/version1.db.gz", unzipped)
	for name, c := range map[string]struct {
		from string // a database
		args []string
	}{
		"import":  {p.database(), []string{"session", "import", "--force", second}},
		"gc":      {p.database(), []string{"session", "gc", "--archived-days", "0"}},
		"migrate": {unzipped, []string{"session", "list", "--all"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := p.copied(t, c.from).stored(t)
			whole := p.copied(t, c.from)
			begun := time.Now()
			whole.output(t, 0, c.args...)
			took := time.Since(begun)
			after := whole.stored(t)
			if same := before == after; same != (name == "migrate") {
				t.Fatalf("before and after are the same: %v", same)
			}
			kept, rounds := 0, roundsOf(t, "TENON_CRASH_ROUNDS", storeKills)
			for round := range rounds {
				q := p.copied(t, c.from)
				done := q.killed(t, took+took/4, c.args...)
				if backup := q.database() + ".v1.bak"; exists(backup) && p.copied(t, backup).stored(t) != before {
					t.Fatalf("round %d: the copy cannot be used", round)
				}
				got := q.stored(t)
				if got == before {
					kept++
				}
				if got != before && got != after || done && got != after {
					t.Fatalf("round %d: done %v, and neither the old state nor the new one is there", round, done)
				}
			}
			t.Logf("%d of %d times it was as before", kept, rounds)
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func unzip(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProcessesSideBySide runs turns in two processes on one database while a third one imports, collects and searches.
func TestProcessesSideBySide(t *testing.T) {
	t.Parallel()
	const turns = 4
	s := fakellm.New(t)
	s.Handle(func(r fakellm.Request) fakellm.Reply {
		if len(r.Results()) == 0 {
			return fakellm.Text("I look. ").Call("bash", `{"command":"echo hi","description":"greet"}`)
		}
		return slowly("All of it is done, and this is what came of it.")
	})
	p := newProcess(t, s.URL())
	files := []string{exported(t, "gen1"), exported(t, "gen2")}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range turns {
				if out, err := p.command("run", "--auto", "--title", "side by side", "work").CombinedOutput(); err != nil {
					t.Errorf("run: %v: %s", err, out)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }() // ends with the turns
	for n, running := 0, true; running || n < 4; n++ {
		for _, args := range [][]string{
			{"session", "import", "--force", files[n%2]}, {"session", "gc", "--archived-days", "0"}, {"session", "search", "--all", "hi"}, {"session", "list"},
		} {
			if out, err := p.command(args...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v: %s", args, err, out)
			}
		}
		select {
		case <-done:
			running = false
		default:
		}
	}
	<-done
	list, _ := p.output(t, 0, "session", "list", "-n", "100")
	if n := strings.Count(list, "side by side"); n != 2*turns {
		t.Errorf("%d sessions, want %d:\n%s", n, 2*turns, list)
	}
	if out, _ := p.output(t, 0, "doctor", "--offline"); !strings.Contains(out, "is intact") {
		t.Errorf("doctor: %s", out)
	}
}
