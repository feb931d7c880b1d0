//go:build unix

package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/pins"
)

// installKillRounds is the number of kills in the usual run; TENON_INSTALL_KILL_ROUNDS changes it.
const installKillRounds = 12

// TestInstallKilled kills install, update and rollback at any moment. Afterwards the lock file is the old one or the new one, and what it
// names can be restored without asking.
func TestInstallKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	rounds := roundsOf(t, "TENON_INSTALL_KILL_ROUNDS", installKillRounds)
	p := newProcess(t, "http://127.0.0.1:1")
	dir := filepath.Join(p.work, "plugin")
	version := func(text string) {
		t.Helper()
		files := map[string]string{
			"plugin.json":       `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "hello", "version": "` + text + `"}`,
			"skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n" + strings.Repeat(text, 100_000),
		}
		for name, body := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	version("1.0.0")
	begun := time.Now()
	p.output(t, 0, "plugin", "install", "--project", "./plugin", "--yes")
	whole := time.Since(begun)
	lock := filepath.Join(p.work, pins.Name)
	for round := range rounds {
		version("1.0." + string(rune('a'+round%20)))
		before, err := os.ReadFile(lock)
		if err != nil {
			t.Fatal(err)
		}
		args := [][]string{{"plugin", "update", "--yes"}, {"plugin", "install", "--project", "./plugin", "--yes"}, {"plugin", "rollback", "--project"}}[round%3]
		p.killed(t, whole, args...)
		after, err := pins.Read(lock)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		old, err := pins.Decode(before)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(after.Encode(), old.Encode()) && (len(after.Plugins) > 1 || after.Find("hello") == nil && len(after.Plugins) > 0) {
			t.Fatalf("%v: the lock file is neither old nor new: %s", args, after.Encode())
		}
		p.output(t, 0, "plugin", "verify")
		p.output(t, 0, "plugin", "list")
	}
	// Pinned content is available without its source: it was kept before it was pinned.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.output(t, 0, "plugin", "sync", "--frozen")
}
