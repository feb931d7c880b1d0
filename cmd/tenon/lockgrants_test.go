package main_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockGrantsRoot is where the project was when version 1 of tenon wrote testdata/lock-v1-grants/tenon.lock: it approved every plugin
// there, with tenon's data in the directory data of the project.
const lockGrantsRoot = "/tmp/tenon-v1g"

// TestGrantsOverOwnDirectories checks that directories which contain tenon's own, or lie in one, are not granted, whatever an earlier
// version approved: the plugins wait for approval, which is refused, and runs go on without them.
func TestGrantsOverOwnDirectories(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	root, err := filepath.EvalSymlinks(p.work)
	must(t, err)
	project := filepath.Join(root, "project")
	data := filepath.Join(project, "data")
	p.work = project
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	for i, kv := range p.env {
		if strings.HasPrefix(kv, "TENON_DATA_DIR=") {
			p.env[i] = "TENON_DATA_DIR=" + data
		}
	}
	source := filepath.Join("testdata", "lock-v1-grants")
	must(t, os.CopyFS(filepath.Join(project, ".tenon", "plugins"), os.DirFS(filepath.Join(source, "plugins"))))
	must(t, os.Mkdir(filepath.Join(project, ".git"), 0o755))
	must(t, os.Mkdir(data, 0o700))
	lock, err := os.ReadFile(filepath.Join(source, "tenon.lock"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(data, "tenon.lock"), bytes.ReplaceAll(lock, []byte(lockGrantsRoot), []byte(root)), 0o600))

	want := map[string]string{"all": "pending", "project": "pending", "command": "pending", "own": "ready", "docs": "ready"}
	if have := p.states(t); !maps.Equal(have, want) {
		t.Errorf("states = %v, want %v", have, want)
	}
	must(t, os.MkdirAll(filepath.Join(project, "docs"), 0o755))
	config := filepath.Join(project, "docs", "more.json")
	must(t, os.WriteFile(config, []byte("{}"), 0o600))
	named := *p
	named.env = append(slices.Clone(p.env), "TENON_CONFIG="+config)
	if have := named.states(t)["docs"]; have != "pending" {
		t.Errorf("with a configuration file in docs, docs is %s, want pending", have)
	}
	if _, errs := named.output(t, 2, "plugin", "trust", "docs", "--yes"); !strings.Contains(errs, `fs.read "$PROJECT/docs" contains `+config) {
		t.Errorf("trust docs: %s", errs)
	}
	must(t, os.RemoveAll(filepath.Join(project, "docs")))
	must(t, os.Symlink("data", filepath.Join(project, "docs")))
	if have := p.states(t)["docs"]; have != "pending" {
		t.Errorf("with docs a link to tenon's data, docs is %s, want pending", have)
	}
	own := map[string]string{"all": strings.TrimPrefix(p.env[0], "HOME="), "project": data, "command": data, "docs": data}
	for name, capability := range map[string]string{"all": `fs.read "/"`, "project": `fs.write "$PROJECT"`, "command": `fs.write "$PROJECT"`, "docs": `fs.read "$PROJECT/docs"`} {
		_, errs := p.output(t, 2, "plugin", "trust", name, "--yes")
		for _, part := range []string{name + " cannot be approved", capability + " contains " + own[name], "--without"} {
			if !strings.Contains(errs, part) {
				t.Errorf("trust %s: no %q in:\n%s", name, part, errs)
			}
		}
	}
	must(t, os.RemoveAll(filepath.Join(project, ".tenon", "plugins", "own"))) // which is not a module
	_, errs := p.output(t, 0, "run", "--auto", "hi")
	if !strings.Contains(errs, "is not approved and was skipped") || strings.Count(errs, " or is inside it") != 4 {
		t.Errorf("the run does not name the plugins, and why:\n%s", errs)
	}
	p.output(t, 0, "plugin", "trust", "all", "--yes", "--without", "fs.read")
	if have := p.states(t)["all"]; have != "ready" {
		t.Errorf("without the grant, all is %s, want ready", have)
	}
}

// TestManyLeftOut: a repository with many scripts in its plugin directory and many plugins that do not exist gets a bounded number of warnings, which hide none about the
// user's plugins.
func TestManyLeftOut(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"], "plugins": ["./own.exe", "./lost.exe"]}`)
	own := filepath.Join(p.work, "own.exe")
	put(t, own, "#!/bin/sh\n")
	must(t, os.Chmod(own, 0o755))
	missing := []string{}
	for i := range 30 {
		missing = append(missing, fmt.Sprintf(`"./missing%d.exe"`, i))
		program := filepath.Join(p.work, ".tenon", "plugins", fmt.Sprintf("p%d.exe", i))
		put(t, program, "#!/bin/sh\n")
		must(t, os.Chmod(program, 0o755))
		put(t, filepath.Join(filepath.Dir(program), fmt.Sprintf("s%d.py", i)), "print()\n")
	}
	put(t, filepath.Join(p.work, "tenon.json"), `{"plugins": [`+strings.Join(missing, ", ")+`]}`)
	_, errs := p.output(t, 0, "run", "hello")
	for text, count := range map[string]int{
		"is not approved and was skipped;": 11, "plugin own is not approved": 1, "is not loaded: ": 1, "plugin lost is not loaded: ": 1, "50 more of the project are not used": 1,
		".py\" is not a plugin": 10, "20 more files and directories are not plugins": 1,
	} {
		if strings.Count(errs, text) != count {
			t.Errorf("want %q %d times:\n%s", text, count, errs)
		}
	}
}
