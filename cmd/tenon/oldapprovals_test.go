package main_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
)

// Approvals that an earlier version wrote (testdata/approvals.db.gz: a project's tenon.json by tenon permission approve, and "always"
// for edit *) count as far as their meaning did not change: for its rules and for files in general, not for the addresses in the same
// tenon.json, nor for files that programs execute automatically.
func TestOldApprovals(t *testing.T) {
	t.Parallel()
	const oldProject = "/tmp/tenon-fixture/p"
	p := newProcess(t, "")
	p.env = append(p.env[:len(p.env)-1], `TENON_CONFIG_CONTENT={"model": "offline/offline", "snapshot": false}`)
	work, err := filepath.EvalSymlinks(p.work)
	if err != nil {
		t.Fatal(err)
	}
	p.work = work
	put(t, filepath.Join(p.work, "tenon.json"), `{"permission": {"bash": {"touch *": "allow"}}, "provider": {"x": {"protocol": "openai-chat", "options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"m": {}}}}}`+"\n")
	database := filepath.Join(strings.TrimPrefix(p.env[0], "HOME="), "data", "tenon.db")
	put(t, database, unpacked(t, "testdata/approvals.db.gz"))
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: database, Version: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Approvals(t.Context(), "directory "+oldProject)
	if err != nil || len(list) != 2 {
		t.Fatalf("approvals = %v, %v, want 2", list, err)
	}
	for i := range list { // they are bound to the place, which is another one here
		list[i] = store.Approval{
			Project: "directory " + p.work, Permission: list[i].Permission, Pattern: strings.Replace(list[i].Pattern, oldProject, p.work, 1),
			Created: list[i].Created, Session: list[i].Session, Origin: list[i].Origin,
		}
	}
	if err := s.Approve(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for call, code := range map[string]int{`bash {"command": "touch made"}`: 0, `write {"filePath": "new.txt", "content": "x"}`: 0, `write {"filePath": "AGENTS.md", "content": "x"}`: 5} {
		p.output(t, code, "run", "--title", "x", call)
	}
	for name, want := range map[string]bool{"made": true, "new.txt": true, "AGENTS.md": false} {
		if _, err := os.Stat(filepath.Join(p.work, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if _, errs := p.output(t, 5, "run", "-m", "x/m", "hi"); !strings.Contains(errs, "receiver is not approved") {
		t.Errorf("the address counts as approved: %s", errs)
	}
}

func unpacked(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOldAlways has answers "always" to shell commands, stored by a version that judged them with a model of bash: they are rules for the
// commands that the grammar accepts, and for no others.
func TestOldAlways(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env[:len(p.env)-1], `TENON_CONFIG_CONTENT={"model": "offline/offline", "snapshot": false}`)
	put(t, filepath.Join(strings.TrimPrefix(p.env[0], "HOME="), "data", "tenon.db"), unpacked(t, "testdata/always.db.gz"))
	// The approvals belong to the repository with this first commit.
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = p.work
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if out, _ := p.output(t, 0, "permission", "list"); strings.Count(out, "\n") != 1+12 { // with the header
		t.Fatalf("permission list = %s, want the 12 approvals of the database", out)
	}
	for command, allowed := range map[string]bool{
		"git status -s": true, "npm run build -- x": true, "echo y": true, "rm -f gone": true, "ls . | wc -c": true,
		"echo x > out": false, "rm -f other": false, "python3 -c 'print(1)'": false, "FOO=1 go vet ./...": false, "git status -s; touch x": false, "echo $HOME": false, "ls `touch x`": false,
	} {
		call, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		code := 5
		if allowed {
			code = 0
		}
		out, errs := p.output(t, code, "run", "--title", "x", "bash "+string(call))
		if refused := strings.Contains(out+errs, "refused"); refused == allowed {
			t.Errorf("%q is refused: %t\n%s%s", command, refused, out, errs)
		}
	}
}
