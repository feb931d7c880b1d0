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
	own := filepath.Join(temp, "npm")
	if shared := filepath.Join(npm, "_cacache"); filepath.IsAbs(shared) && isDir(shared) && os.MkdirAll(own, 0o700) == nil {
		_ = os.Symlink(shared, filepath.Join(own, "_cacache")) // if it fails, npm downloads again
	}
	return append(env, "TMPDIR="+temp, "npm_config_cache="+own, "UV_CACHE_DIR="+filepath.Join(temp, "uv"))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
