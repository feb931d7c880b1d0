package install_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
	"github.com/tenonhq/tenon/plugins/trust"
)

// installer returns an installer of a new user.
func installer(t testing.TB, environ []string, builds string) *install.Installer {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { _ = child.RemoveAll(filepath.Join(dir, "store")) })
	return &install.Installer{
		Vault: trust.NewVault(filepath.Join(dir, "store"), ""), History: pins.History{Dir: dir}, Home: dir, Temp: filepath.Join(dir, "temp"),
		Fetcher: &source.Fetcher{Cache: filepath.Join(dir, "cache"), Builds: builds, Environ: environ},
	}
}

// TestNoPluginInNPM: the dependencies of a package that is not a plugin are not fetched.
func TestNoPluginInNPM(t *testing.T) {
	t.Parallel()
	npm := sourcetest.NewNPM(t)
	npm.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"1"}}`, "index.js": "1"})
	npm.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0"}`, "index.js": "2"})
	in := installer(t, os.Environ(), "")
	in.Fetcher.Registry = npm.URL
	_, err := in.Stage(t.Context(), install.Target{Path: filepath.Join(t.TempDir(), pins.Name)}, "npm:one", nil)
	if asked := strings.Join(npm.Asked(), " "); !errors.Is(err, manifest.ErrNone) || strings.Contains(asked, "two") {
		t.Errorf("error %v after requests of %s", err, asked)
	}
}

// TestVendor: another user gets the same plugins from the vendor directory alone, and one flipped byte is refused.
func TestVendor(t *testing.T) {
	t.Parallel()
	project, proxy, builds := t.TempDir(), t.TempDir(), sourcetest.GoBuilds(t)
	npm := sourcetest.NewNPM(t)
	npm.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"1"}}`, ".claude-plugin/plugin.json": `{"name":"one"}`, "skills/a/SKILL.md": "---\nname: a\ndescription: b\n---\n"})
	npm.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0"}`, "index.js": "2"})
	sourcetest.AddModule(t, proxy, "example.com/say", "v1.0.0", map[string]string{"go.mod": "module example.com/say\n\ngo 1.21\n", "main.go": "package main\n\nfunc main() { println(1) }\n"})
	for name, content := range map[string]string{"plugin/.claude-plugin/plugin.json": `{"name":"local"}`, "plugin/skills/a/SKILL.md": "---\nname: a\ndescription: b\n---\n", "bare.wasm": "\x00asm\x01\x00\x00\x00"} {
		path := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	environ := sourcetest.GoEnviron(proxy)
	first := installer(t, environ, builds)
	first.Fetcher.Registry = npm.URL
	target := install.Target{Path: filepath.Join(project, pins.Name), Project: true}
	file := &pins.File{}
	for _, ref := range []string{"./plugin", "./bare.wasm", "npm:one", "go:example.com/say"} {
		s, err := first.Stage(t.Context(), target, ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		file = file.With(s.Plugin)
	}
	dir := filepath.Join(project, filepath.FromSlash(install.VendorDir))
	for range 2 { // the second replaces the first
		if err := first.Write(t.Context(), target, file, dir); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(project, "plugin")), os.RemoveAll(filepath.Join(project, "bare.wasm")), os.RemoveAll(proxy), os.MkdirAll(filepath.Join(project, "plugin"), 0o755),
		os.WriteFile(filepath.Join(project, "bare.wasm"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	other := installer(t, environ, builds)
	npm.Close()
	other.Vendor, other.Fetcher.Seed, other.Fetcher.Offline = dir, dir, true
	for _, p := range file.Plugins {
		s, err := other.Stage(t.Context(), target, p.Ref, &p)
		if err != nil || !p.Local && s.Digest != p.Digest || s.Name != p.Name {
			t.Errorf("%s: %+v, %v", p.Name, s, err)
		}
	}
	if hosts, err := other.Hosts(target, file.Plugins); err != nil || len(hosts) != 2 { // of npm: its dependencies and tarball may be missing
		t.Errorf("hosts %v, %v", hosts, err)
	}
	trees, err := filepath.Glob(filepath.Join(dir, "trees", "*"))
	if err != nil || len(trees) != 2 {
		t.Fatalf("%v, %v", trees, err)
	}
	swapped := trees[1] + ".x"
	if err := errors.Join(os.Rename(trees[0], swapped), os.Rename(trees[1], trees[0]), os.Rename(swapped, trees[1])); err != nil {
		t.Fatal(err)
	}
	third := installer(t, environ, builds)
	third.Vendor = dir
	for _, p := range file.Plugins {
		if _, err := third.Stage(t.Context(), target, p.Ref, &p); !p.Local && !errors.Is(err, source.ErrMismatch) {
			t.Errorf("%s with other content: %v", p.Name, err)
		}
	}
}

// TestHostsOfDependencies: the hosts of a pin include the registries of its dependencies, whose tokens the user's .npmrc has.
func TestHostsOfDependencies(t *testing.T) {
	t.Parallel()
	in := installer(t, nil, "")
	if err := os.WriteFile(filepath.Join(in.Home, ".npmrc"), []byte("@corp:registry=https://npm.corp/\n@other:registry=https://npm.other/"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.Fetcher.UserConfig = source.UserNPMRC(in.Home, "", t.TempDir(), nil)
	lock := `{"packages":{"node_modules/@corp/x":{"version":"1.0.0","resolved":"@corp/x/-/x.tgz","integrity":"` + sourcetest.Integrity(nil) + `"}}}`
	server := `{"name":"a/b","version":"1.0.0","packages":[{"registryType":"npm","identifier":"one","version":"1.0.0","transport":{"type":"stdio"}}]}`
	for _, pin := range []source.Pin{{Ref: "npm:one@1.0.0"}, {Ref: "mcp:a/b@1.0.0", Server: json.RawMessage(server)}} {
		pin.Local, pin.Packages = true, json.RawMessage(lock)
		hosts, err := in.Hosts(install.Target{Path: filepath.Join(t.TempDir(), pins.Name), Project: true}, []pins.Plugin{{Name: "one", Pin: pin}})
		if err != nil || !slices.Equal(hosts, []string{"registry.npmjs.org", "npm.corp"}) {
			t.Errorf("%s: %q, %v", pin.Ref, hosts, err)
		}
	}
}

// TestVendorSameContent: two plugins without their own names may have the same content.
func TestVendorSameContent(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	write(t, project, map[string]string{"one/skills/a/SKILL.md": skill("a"), "two/skills/a/SKILL.md": skill("a")})
	target := install.Target{Path: filepath.Join(project, pins.Name), Project: true}
	in := installer(t, nil, "")
	file := &pins.File{}
	for _, ref := range []string{"./one", "./two"} {
		s, err := in.Stage(t.Context(), target, ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		file = file.With(s.Plugin)
	}
	if len(file.Plugins) != 2 || file.Plugins[0].Digest != file.Plugins[1].Digest {
		t.Fatalf("%+v", file.Plugins)
	}
	dir := filepath.Join(project, filepath.FromSlash(install.VendorDir))
	if err := in.Write(t.Context(), target, file, dir); err != nil {
		t.Fatal(err)
	}
	in.Vendor = dir
	for _, p := range file.Plugins {
		if s, err := in.Stage(t.Context(), target, p.Ref, &p); err != nil || s.Name != p.Name || s.Digest != p.Digest {
			t.Errorf("%s: %+v, %v", p.Name, s, err)
		}
	}
}

// TestVendorLink: a link in a repository does not lead the command to another directory.
func TestVendorLink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".tenon", ".tenon/vendor"} {
		project, other := t.TempDir(), t.TempDir()
		kept, link := filepath.Join(other, "vendor", "kept"), filepath.Join(project, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(kept, 0o755), os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(other, link)); err != nil {
			t.Fatal(err)
		}
		target := install.Target{Path: filepath.Join(project, pins.Name), Project: true}
		err := installer(t, nil, "").Write(t.Context(), target, &pins.File{}, filepath.Join(project, filepath.FromSlash(install.VendorDir)))
		if _, statErr := os.Stat(kept); statErr != nil || !errors.Is(err, install.ErrOutside) {
			t.Errorf("%s is a link: %v, %v", name, err, statErr)
		}
	}
}

// TestVendorDirectory: what a directory has that an archive has not, such as links that lead out, does not make its vendored copy differ.
func TestVendorDirectory(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	plugin := filepath.Join(project, "plugin")
	files := map[string]string{".claude-plugin/plugin.json": `{"name":"local"}`, "skills/a/SKILL.md": "---\nname: a\ndescription: b\n---\n", "sub/.git": "gitdir: x", "bin/run": "#!/bin/sh\n"}
	for name, content := range files {
		path := filepath.Join(plugin, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"near": "bin/run", "far": "/etc/hostname", "up": "../../x", "chain": "near", "folder": "skills", "behind": "folder/a/SKILL.md", "loop": "loop", "missing": "sub/none",
		"absolute": filepath.Join(plugin, "bin", "run"), "skills/b": "a",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(plugin, name)); err != nil {
			t.Fatal(err)
		}
	}
	target := install.Target{Path: filepath.Join(project, pins.Name), Project: true}
	first := installer(t, nil, "")
	s, err := first.Stage(t.Context(), target, "./plugin", nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := first.Vault.Open(t.Context(), s.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, works := range map[string]bool{"near": true, "chain": true, "folder": true, "absolute": true, "behind": true, "skills/b": true, "far": false, "up": false, "loop": false} {
		if _, err := os.Stat(filepath.Join(sealed.Root, name)); (err == nil) != works {
			t.Errorf("link %s: %v", name, err)
		}
	}
	for _, name := range []string{"far", "up", "loop"} {
		if !slices.ContainsFunc(sealed.LeftOut(), func(line string) bool { return strings.HasPrefix(line, name+": a link that leads out") }) {
			t.Errorf("%s is not named: %q", name, sealed.LeftOut())
		}
	}
	dir := filepath.Join(project, filepath.FromSlash(install.VendorDir))
	if err := first.Write(t.Context(), target, (&pins.File{}).With(s.Plugin), dir); err != nil {
		t.Fatal(err)
	}
	fromSource := installer(t, nil, "")
	if again, err := fromSource.Stage(t.Context(), target, s.Ref, &s.Plugin); err != nil || again.Digest != s.Digest {
		t.Errorf("from the directory: %+v, %v", again, err)
	}
	if err := os.RemoveAll(plugin); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	other := installer(t, nil, "")
	other.Vendor, other.Fetcher.Offline = dir, true
	if again, err := other.Stage(t.Context(), target, s.Ref, &s.Plugin); err != nil || again.Digest != s.Digest {
		t.Errorf("from the vendor directory: %+v, %v", again, err)
	}
	list, err := filepath.Glob(filepath.Join(dir, "trees", "*.tar.gz"))
	if err != nil || len(list) != 1 {
		t.Fatalf("vendored %v, %v", list, err)
	}
	if err := os.WriteFile(list[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := installer(t, nil, "")
	damaged.Vendor = dir
	if _, err := damaged.Stage(t.Context(), target, s.Ref, &s.Plugin); !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), list[0]) {
		t.Errorf("from a damaged archive: %v, want ErrUnsafe with its path", err)
	}
}

// skillIn makes a project with a plugin that has one skill.
func skillIn(t *testing.T) (lock install.Target, plugin string) {
	t.Helper()
	project := t.TempDir()
	plugin = filepath.Join(project, "plugin")
	skill := filepath.Join(plugin, "skills", "a", "SKILL.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(skill), 0o755), os.WriteFile(skill, []byte("---\nname: a\ndescription: b\n---\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return install.Target{Path: filepath.Join(project, pins.Name), Project: true}, plugin
}

// TestAbandoned: an installation deletes what killed ones left behind, and nothing of one that may still run.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	in := installer(t, nil, "")
	old, fresh, other := filepath.Join(in.Temp, ".install-1"), filepath.Join(in.Temp, ".install-2"), filepath.Join(in.Temp, "other")
	before := time.Now().Add(-25 * time.Hour)
	for _, dir := range []string{old, fresh, other} {
		if err := os.MkdirAll(filepath.Join(dir, "plugin"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(old, before, before), os.Chtimes(other, before, before)); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(t.TempDir(), "bare.wasm")
	if err := os.WriteFile(module, []byte("\x00asm\x01\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Stage(t.Context(), install.Target{Path: filepath.Join(t.TempDir(), pins.Name)}, module, nil); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(in.Temp)
	if err != nil || len(left) != 2 || left[0].Name() != filepath.Base(fresh) || left[1].Name() != filepath.Base(other) {
		t.Errorf("left %v, %v", left, err)
	}
	project := t.TempDir()
	half := filepath.Join(project, ".tenon", ".vendor-1")
	if err := errors.Join(os.MkdirAll(half, 0o700), os.Chtimes(half, before, before)); err != nil {
		t.Fatal(err)
	}
	if err := in.Write(t.Context(), install.Target{Path: filepath.Join(project, pins.Name), Project: true}, &pins.File{}, filepath.Join(project, filepath.FromSlash(install.VendorDir))); err != nil {
		t.Fatal(err)
	}
	if left, err = os.ReadDir(filepath.Dir(half)); err != nil || len(left) != 1 || left[0].Name() != "vendor" {
		t.Errorf("left %v, %v", left, err)
	}
}
