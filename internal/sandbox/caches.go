package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
)

// caches adds the caches that builds write, for installed programs, and never a directory with other files.
func (f *finder) caches() {
	home := f.Project.Home
	if _, err := os.Stat(home); home == "" || err != nil {
		return
	}
	cache := cmp.Or(f.lookup("XDG_CACHE_HOME"), filepath.Join(home, ".cache"))
	settings := f.goSettings()
	goVar := func(name string) string { return cmp.Or(f.lookup(name), settings[name]) }
	gopath := filepath.SplitList(cmp.Or(goVar("GOPATH"), filepath.Join(home, "go")))[0]
	cargo := cmp.Or(f.lookup("CARGO_HOME"), filepath.Join(home, ".cargo"))
	npm := cmp.Or(f.lookup("npm_config_cache"), f.lookup("NPM_CONFIG_CACHE"), filepath.Join(home, ".npm"))
	for _, c := range []struct {
		program string
		dirs    []string
	}{
		{"go", []string{cmp.Or(goVar("GOCACHE"), filepath.Join(cache, "go-build")), cmp.Or(goVar("GOMODCACHE"), filepath.Join(gopath, "pkg", "mod")), filepath.Join(gopath, "pkg", "sumdb")}},
		{"npm", []string{filepath.Join(npm, "_cacache"), filepath.Join(npm, "_logs")}},
		{"cargo", []string{filepath.Join(cargo, "registry"), filepath.Join(cargo, "git")}},
		{"pip", []string{cmp.Or(f.lookup("PIP_CACHE_DIR"), filepath.Join(cache, "pip"))}},
	} {
		if child.LookPath(c.program, f.Environ) == "" {
			continue
		}
		for _, dir := range c.dirs {
			if filepath.IsAbs(dir) && f.refuse(dir) == nil && (!f.Create || os.MkdirAll(dir, 0o700) == nil) {
				f.add(Write, "cache of "+c.program, dir)
			}
		}
	}
	for _, lock := range []string{".package-cache", ".package-cache-mutate"} { // cargo takes them before it reads its registry
		path := filepath.Join(cargo, lock)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			f.add(Write, "cache of cargo", path)
		}
	}
}

// goSettings returns the variables set by "go env -w".
func (f *finder) goSettings() map[string]string {
	file := cmp.Or(f.lookup("GOENV"), filepath.Join(cmp.Or(f.lookup("XDG_CONFIG_HOME"), filepath.Join(f.Project.Home, ".config")), "go", "env"))
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // most users have no such file
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[name] = value
		}
	}
	return out
}
