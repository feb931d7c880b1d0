package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// TestInstallLocal installs a package whose content each machine makes, an npm package with a dependency. Another machine makes it again
// from the lock file, and asks.
func TestInstallLocal(t *testing.T) {
	t.Parallel()
	npm := sourcetest.NewNPM(t)
	npm.Add(t, map[string]string{
		"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"1"}}`, ".claude-plugin/plugin.json": `{"name":"one","version":"1.0.0"}`,
		"skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n",
	})
	npm.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0"}`})
	p := newProcess(t, "http://127.0.0.1:1")
	p.env = append(p.env, "NPM_CONFIG_REGISTRY="+npm.URL)
	p.output(t, 0, "plugin", "install", "npm:one", "--yes")
	ready := func() {
		t.Helper()
		if out, _ := p.output(t, 0, "plugin", "list"); !strings.Contains(out, "ready") {
			t.Errorf("list: %s", out)
		}
		p.output(t, 0, "plugin", "verify")
	}
	ready()
	lock := filepath.Join(filepath.Dir(p.dataDir()), ".config", "tenon", pins.Name)
	data, err := os.ReadFile(lock)
	if err != nil || strings.Contains(string(data), `"digest"`) || !strings.Contains(string(data), `"resolved": "two/-/1.0.0.tgz"`) {
		t.Errorf("%s, %v", data, err)
	}
	if _, errs := p.output(t, 0, "plugin", "outdated"); !strings.Contains(errs, "up to date") {
		t.Errorf("outdated: %s", errs)
	}

	// A newer dependency is an update, and can be taken back.
	npm.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.1.0"}`})
	p.output(t, 0, "plugin", "update", "--yes")
	ready()
	p.output(t, 0, "plugin", "rollback")
	if again, err := os.ReadFile(lock); err != nil || string(again) != string(data) {
		t.Errorf("after the rollback: %s, %v", again, err)
	}

	// Another machine.
	for i := range p.env {
		if strings.HasPrefix(p.env[i], "TENON_DATA_DIR=") {
			p.env[i] = "TENON_DATA_DIR=" + filepath.Join(t.TempDir(), "data")
		}
	}
	if out, _ := p.output(t, 0, "plugin", "list"); !strings.Contains(out, "not fetched") {
		t.Errorf("list before sync: %s", out)
	}
	if _, errs := p.output(t, 1, "plugin", "verify"); !strings.Contains(errs, "one: not fetched") {
		t.Errorf("verify before sync: %s", errs)
	}
	p.output(t, 0, "plugin", "sync", "--yes")
	ready()
	p.output(t, 0, "plugin", "sync", "--frozen", "--offline")
}

// TestInstallScope installs a package whose scope has its own registry in the user's .npmrc. The project's .npmrc does not count.
func TestInstallScope(t *testing.T) {
	t.Parallel()
	public, private := sourcetest.NewNPM(t), sourcetest.NewNPM(t)
	private.Token = "secret"
	for npm, version := range map[*sourcetest.NPM]string{public: "9.0.0", private: "1.0.0"} {
		npm.Add(t, map[string]string{
			"package.json": `{"name":"@corp/one","version":"` + version + `"}`, ".claude-plugin/plugin.json": `{"name":"one","version":"` + version + `"}`,
			"skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n",
		})
	}
	p := newProcess(t, "http://127.0.0.1:1")
	p.env = append(p.env, "NPM_CONFIG_REGISTRY="+public.URL, "CORP_TOKEN=secret")
	home := filepath.Dir(p.dataDir())
	settings := "@corp:registry=" + private.URL + "\n" + strings.TrimPrefix(private.URL, "http:") + "/:_authToken=${CORP_TOKEN}\n"
	if err := errors.Join(os.WriteFile(filepath.Join(p.work, ".npmrc"), []byte("@corp:registry="+public.URL), 0o600),
		os.WriteFile(filepath.Join(home, ".npmrc"), []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.output(t, 0, "plugin", "install", "npm:@corp/one", "--yes")
	lock, err := os.ReadFile(filepath.Join(home, ".config", "tenon", pins.Name))
	if err != nil || !strings.Contains(string(lock), private.URL) || strings.Contains(string(lock), "secret") || len(public.Asked()) > 0 {
		t.Errorf("%s, %v, the public registry was asked for %q", lock, err, public.Asked())
	}
	p.output(t, 0, "plugin", "outdated")
	other := filepath.Join(home, "other")
	if err := os.WriteFile(other, []byte("# mine\n@corp:registry=${PASSWORD}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "NPM_CONFIG_USERCONFIG="+other, "PASSWORD=hidden")
	if _, errs := p.output(t, 3, "plugin", "install", "npm:@corp/one", "--yes"); !strings.Contains(errs, other+":2: @corp:registry: ") || strings.Contains(errs, "hidden") {
		t.Error(errs)
	}
	for _, named := range []string{".npmrc", filepath.Join(p.work, ".npmrc")} { // a repository may have set it
		p.env = append(p.env, "NPM_CONFIG_USERCONFIG="+named)
		if _, errs := p.output(t, 3, "plugin", "install", "npm:@corp/one", "--yes"); !strings.Contains(errs, "NPM_CONFIG_USERCONFIG: "+named) {
			t.Error(errs)
		}
	}
}
