package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// cache is what a program that builds keeps in a directory: that of a variable, or the usual one.
type cache struct {
	program, variable, usual string
	parts                    []string // subdirectories; none: the directory
}

// builds are the caches that builds write. The directories hold no programs that are run by name.
var builds = []cache{
	{"go", "GOCACHE", "$cache/go-build", nil},
	{"go", "GOMODCACHE", "$gopath/pkg/mod", nil},
	{"go", "", "$gopath/pkg/sumdb", nil},
	{"npm", "npm_config_cache", "~/.npm", []string{"_cacache", "_logs"}},
	{"yarn", "YARN_CACHE_FOLDER", "$cache/yarn", nil},
	{"yarn", "YARN_GLOBAL_FOLDER", "~/.yarn/berry", nil},
	{"cargo", "CARGO_HOME", "~/.cargo", []string{"registry", "git"}},
	{"pip", "PIP_CACHE_DIR", "$cache/pip", nil},
	{"mvn", "", "~/.m2/repository", nil},
	{"gradle", "GRADLE_USER_HOME", "~/.gradle", []string{"caches", "wrapper"}}, // linked by child.Temporary
	{"ccache", "CCACHE_DIR", "$cache/ccache", nil},
}

// caches adds the caches that exist, and those of installed programs.
func (f *finder) caches() {
	home := f.Project.Home
	if _, err := os.Stat(home); home == "" || err != nil {
		return
	}
	settings := f.goSettings()
	value := func(name string) string {
		return cmp.Or(f.lookup(name), f.lookup(strings.ToUpper(name)), settings[name])
	}
	usual := strings.NewReplacer("~", home, "$cache", cmp.Or(value("XDG_CACHE_HOME"), filepath.Join(home, ".cache")),
		"$gopath", filepath.SplitList(cmp.Or(value("GOPATH"), filepath.Join(home, "go")))[0])
	for _, c := range builds {
		dir := cmp.Or(value(c.variable), usual.Replace(c.usual))
		installed := child.LookPath(c.program, f.Environ) != ""
		for _, part := range append(c.parts, "")[:max(len(c.parts), 1)] {
			part = filepath.Join(dir, part)
			if _, err := os.Stat(part); !filepath.IsAbs(dir) || err != nil && !installed || f.refuse(part) != nil || f.led(part) || f.Create && os.MkdirAll(part, 0o700) != nil {
				continue
			}
			f.add(Write, "cache of "+c.program, part)
		}
	}
	for _, lock := range []string{".package-cache", ".package-cache-mutate"} { // cargo takes them before it reads its registry
		path := filepath.Join(cmp.Or(value("CARGO_HOME"), filepath.Join(home, ".cargo")), lock)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !f.led(path) {
			f.add(Write, "cache of cargo", path)
		}
	}
}

// led reports whether commands could put a link in place of the path, or of a directory above it: it is in a directory that the configuration
// makes writable, or in the project unless that contains the home directory. A rule, which it does not need, would be for the link's target.
func (f *finder) led(path string) bool {
	for _, writable := range append([]string{f.Project.Worktree}, f.Config.Write...) {
		writable = projectfs.Real(projectfs.FromHome(f.Project.Home, writable))
		if projectfs.Inside(writable, projectfs.Real(f.Project.Home)) {
			continue // not writable
		}
		for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if projectfs.Inside(writable, f.resolver.Real(dir)) {
				return true
			}
		}
	}
	return false
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
