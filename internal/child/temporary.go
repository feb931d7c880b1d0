package child

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Temporary returns the environment of a confined process whose temporary directory is temp. The caches of npx and uvx hold programs that
// unconfined processes would run, so they are below temp. Packages that npm downloaded are shared: npm checks their digests.
func Temporary(env []string, temp string) []string {
	var home, npm string
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "HOME":
			home = value
		case strings.EqualFold(name, "npm_config_cache"):
			npm = value
			return true
		}
		return name == "TMPDIR" || name == "UV_CACHE_DIR"
	})
	if npm == "" {
		npm = filepath.Join(home, ".npm")
	}
	if shared := filepath.Join(npm, "_cacache"); filepath.IsAbs(shared) {
		share(temp, shared)
	}
	return append(env, "TMPDIR="+temp, "npm_config_cache="+filepath.Join(temp, "npm"), "UV_CACHE_DIR="+filepath.Join(temp, "uv"))
}

// share makes a link to npm's packages in its cache below temp. If it fails, npm downloads again. Earlier processes may have made links in temp,
// which lead no further.
func share(temp, packages string) {
	if info, err := os.Stat(packages); err != nil || !info.IsDir() {
		return
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return
	}
	defer root.Close() // only read
	_ = root.Mkdir("npm", 0o700)
	_ = root.Symlink(packages, "npm/_cacache")
}
