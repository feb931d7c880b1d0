package child

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MakeTemporary creates a directory below dir, or below the system's directory for temporary files if dir is empty.
func MakeTemporary(dir, pattern string) (string, error) {
	path, err := os.MkdirTemp(dir, pattern)
	if err != nil {
		return "", &temporaryError{err}
	}
	return path, nil
}

// temporaryError is the error of a temporary directory that cannot be created.
type temporaryError struct{ err error }

// Error names the remedy. The path must be short because of sockets.
func (e *temporaryError) Error() string {
	return fmt.Sprintf("temporary directory: %v; set TMPDIR (TMP on Windows) to the short path of a directory that you can write, or unset it", e.err)
}

// Unwrap returns the error of the file system.
func (e *temporaryError) Unwrap() error { return e.err }

// Blameless marks the error for hooks.Blameless: the command is not at fault.
func (e *temporaryError) Blameless() {}

// Temporary returns the environment of a confined process whose temporary directory is temp. The caches of npx and uvx contain programs that
// unconfined processes would run, so the process has its own below temp. It shares npm's downloaded packages, whose digests npm checks, if
// their directory is in write, the directories that it may write.
func Temporary(env []string, temp string, write []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "TMPDIR" || name == "UV_CACHE_DIR" || strings.EqualFold(name, "npm_config_cache")
	})
	if at := slices.IndexFunc(write, func(dir string) bool { return filepath.Base(dir) == "_cacache" }); at >= 0 {
		share(temp, write[at])
	}
	// In an empty cache, npm's first command would look for a newer npm and recommend it to the model.
	return append(env, "TMPDIR="+temp, "npm_config_cache="+filepath.Join(temp, "npm"), "npm_config_update_notifier=false", "UV_CACHE_DIR="+filepath.Join(temp, "uv"))
}

// share creates a link to npm's packages in the cache below temp. If it fails, npm downloads them again. Links in temp, which earlier
// processes may have created, cannot lead out of it, nor can a link in place of temp.
func share(temp, packages string) {
	root, err := os.OpenRoot(filepath.Dir(temp))
	if err != nil {
		return
	}
	defer root.Close() // only read
	npm := filepath.Join(filepath.Base(temp), "npm")
	_ = root.Mkdir(npm, 0o700)
	_ = root.Symlink(packages, filepath.Join(npm, "_cacache"))
}
