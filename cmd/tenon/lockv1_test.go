package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockV1Root is where the projects were when version 1 of tenon wrote testdata/lock-v1/tenon.lock: it approved every plugin there, disabled
// "off" before it approved another one of that name in the project "other", and quarantined "gate", "redact" and "skipped".
const lockV1Root = "/tmp/tenon-v1"

// manyReads asks for four tool calls.
const manyReads = `read {"filePath":"x.txt","limit":1}
read {"filePath":"x.txt","limit":2}
read {"filePath":"x.txt","limit":3}
read {"filePath":"x.txt","limit":4}`

// newLockV1 returns a process in the first project, with the lock file of version 1, and a function that changes to the other project.
func newLockV1(t *testing.T) (p *process, other func()) {
	t.Helper()
	p = newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	root, err := filepath.EvalSymlinks(p.work)
	must(t, err)
	for _, name := range []string{"project", "other"} {
		must(t, os.CopyFS(filepath.Join(root, name, ".tenon"), os.DirFS(filepath.Join("testdata", "lock-v1", name))))
		must(t, os.Mkdir(filepath.Join(root, name, ".git"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name, "x.txt"), []byte("hello"), 0o644))
	}
	lock, err := os.ReadFile(filepath.Join("testdata", "lock-v1", "tenon.lock"))
	must(t, err)
	must(t, os.MkdirAll(p.dataDir(), 0o700))
	must(t, os.WriteFile(filepath.Join(p.dataDir(), "tenon.lock"), bytes.ReplaceAll(lock, []byte(lockV1Root), []byte(root)), 0o600))
	p.work = filepath.Join(root, "project")
	return p, func() { p.work = filepath.Join(root, "other") }
}

// states returns the state of each plugin by its name.
func (p *process) states(t *testing.T) map[string]string {
	t.Helper()
	out, _ := p.output(t, 0, "plugin", "list", "--format", "json")
	var list []struct{ Name, State string }
	must(t, json.Unmarshal([]byte(out), &list))
	states := map[string]string{}
	for _, one := range list {
		states[one.Name] = one.State
	}
	return states
}

// TestLockOfVersion1 checks what a lock file of version 1 means: hooks with rights are asked about again, what was disabled is disabled by
// its name in every place until it is enabled, what was quarantined is, and the rest stays approved.
func TestLockOfVersion1(t *testing.T) {
	t.Parallel()
	p, other := newLockV1(t)
	for name, want := range map[string]string{
		"plain": "ready", "rewrite": "pending", "off": "disabled", "gate": "quarantined", "redact": "quarantined", "skipped": "quarantined",
	} {
		if have := p.states(t)[name]; have != want {
			t.Errorf("%s is %s, want %s", name, have, want)
		}
	}
	if out, _ := p.output(t, 0, "plugin", "info", "rewrite"); !strings.Contains(out, "+ hook tool.execute.before can run commands") {
		t.Errorf("the question does not say what is asked again:\n%s", out)
	}
	other()
	p.output(t, 0, "plugin", "enable", "redact") // which is in the first project alone
	if have := p.states(t); have["off"] != "disabled" || have["plain"] != "ready" {
		t.Errorf("in the other project: %v, want off disabled and plain ready", have)
	}
	p.output(t, 0, "plugin", "enable", "off")
	p.output(t, 0, "plugin", "disable", "plain")
	if have := p.states(t); have["off"] != "ready" || have["plain"] != "disabled" {
		t.Errorf("in the other project: %v, want off ready and plain disabled", have)
	}
	p.work = filepath.Join(filepath.Dir(p.work), "project")
	if have := p.states(t); have["off"] != "ready" || have["plain"] != "ready" || have["redact"] != "ready" {
		t.Errorf("in the first project: %v, want off and redact enabled, and plain as it was", have)
	}
	lock, err := os.ReadFile(filepath.Join(p.dataDir(), "tenon.lock"))
	must(t, err)
	if !bytes.Contains(lock, []byte(`"version": 2`)) {
		t.Errorf("the lock file was not written in the new version:\n%.300s", lock)
	}
}

// TestQuarantineFailsClosed checks that a gate in quarantine denies and that a hook with onError stop ends the turn, in every run, and that
// each run says how that ends.
func TestQuarantineFailsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		without []string // plugins that are gone
		code    int
	}{
		{"gate", []string{"redact", "skipped"}, 0},
		{"redact", []string{"gate", "skipped"}, 1},
		{"skipped", []string{"gate", "redact"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := newLockV1(t)
			for _, name := range append(c.without, "rewrite", "plain") {
				must(t, os.RemoveAll(filepath.Join(p.work, ".tenon", "plugins", name)))
			}
			for range 2 {
				out, errs := p.output(t, c.code, "run", "--auto", manyReads)
				for _, want := range []string{"plugin " + c.name + " is in quarantine (3 failures in a row", "tenon plugin enable " + c.name} {
					if !strings.Contains(errs, want) {
						t.Errorf("stderr has no %q:\n%s", want, errs)
					}
				}
				if allowed := strings.Count(out, ": ok"); (allowed > 0) != (c.name == "skipped") {
					t.Errorf("%d calls ran:\n%s", allowed, out)
				}
			}
			p.output(t, 0, "plugin", "enable", c.name)
			if state := p.states(t)[c.name]; !slices.Contains([]string{"ready", "pending"}, state) {
				t.Errorf("once enabled it is %s", state)
			}
		})
	}
}

// TestDisabledIsAbsent checks that a gate that the user disabled denies nothing.
func TestDisabledIsAbsent(t *testing.T) {
	t.Parallel()
	p, _ := newLockV1(t)
	for _, name := range []string{"redact", "skipped", "rewrite", "plain"} {
		must(t, os.RemoveAll(filepath.Join(p.work, ".tenon", "plugins", name)))
	}
	p.output(t, 0, "plugin", "disable", "gate")
	out, errs := p.output(t, 0, "run", "--auto", manyReads)
	if strings.Count(out, ": ok") != 4 || strings.Contains(errs, "quarantine") {
		t.Errorf("stdout:\n%s\nstderr:\n%s", out, errs)
	}
}

// TestFailuresCountOverRuns checks that a hook which fails in every run is quarantined, though it is called once in each.
func TestFailuresCountOverRuns(t *testing.T) {
	t.Parallel()
	p, _ := newLockV1(t)
	for _, name := range []string{"redact", "skipped", "gate", "plain"} {
		must(t, os.RemoveAll(filepath.Join(p.work, ".tenon", "plugins", name)))
	}
	p.output(t, 0, "plugin", "trust", "rewrite", "--yes")
	for n, want := range []string{"ready", "ready", "quarantined"} {
		p.output(t, 0, "run", "--auto", `read {"filePath":"x.txt"}`)
		if have := p.states(t)["rewrite"]; have != want {
			t.Errorf("after run %d it is %s, want %s", n+1, have, want)
		}
	}
}
