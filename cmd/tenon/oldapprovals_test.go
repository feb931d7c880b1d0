package main_test

import (
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
)

// Approvals that an earlier version wrote (testdata/approvals.db.gz: a project's tenon.json by tenon permission approve, and "always"
// for edit *) count as far as their meaning did not change: for its rules and for files in general, not for the addresses in the same
// tenon.json, nor for files that programs run by themselves.
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
	for _, call := range []string{`bash {"command": "touch made"}`, `write {"filePath": "new.txt", "content": "x"}`, `write {"filePath": "AGENTS.md", "content": "x"}`} {
		p.output(t, 0, "run", "--title", "x", call)
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
