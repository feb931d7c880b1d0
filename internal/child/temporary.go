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

// private are the directories that a confined process has below its temporary one, because the user's contain programs that are run by name
// (npm, uv, Deno) or files that the sandbox hides (Composer, Bundler, Gradle). Gradle does not find daemons there that run unconfined. Libraries of
// Hugging Face, which fail if they cannot read the user's token, find none.
var private = []privateDirectory{
	{"npm_config_cache", "npm", []string{"/_cacache"}}, // npm checks the digests of packages
	{"UV_CACHE_DIR", "uv", nil},
	{"DENO_DIR", "deno", nil},
	{"COMPOSER_HOME", "composer", nil},
	{"BUNDLE_USER_HOME", "bundle", nil},
	{"HF_TOKEN_PATH", "huggingface", nil},
	{"GRADLE_USER_HOME", "gradle", []string{"gradle/caches", "gradle/wrapper"}},
}

type privateDirectory struct {
	variable, name string
	shared         []string // ends of the paths of the user's directories that it contains as links
}

// Temporary returns the environment of a confined process whose temporary directory is temp. It shares the caches in write, the directories
// that the process may write.
func Temporary(env []string, temp string, write []string) []string {
	java, _ := Lookup(env, "JAVA_TOOL_OPTIONS")
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "TMPDIR" || name == "JAVA_TOOL_OPTIONS" || slices.ContainsFunc(private, func(p privateDirectory) bool { return strings.EqualFold(name, p.variable) })
	})
	for _, p := range private {
		for _, end := range p.shared {
			if at := slices.IndexFunc(write, func(dir string) bool { return strings.HasSuffix(dir, end) }); at >= 0 {
				share(temp, p.name, write[at])
			}
		}
		env = append(env, p.variable+"="+filepath.Join(temp, p.name))
	}
	// Java does not read TMPDIR. It prints a line about this variable each time, but no other reaches the processes that build tools start.
	env = append(env, "JAVA_TOOL_OPTIONS="+strings.TrimSpace(java+" -Djava.io.tmpdir="+temp))
	// In an empty cache, npm's first command would look for a newer npm and recommend it to the model.
	return append(env, "TMPDIR="+temp, "npm_config_update_notifier=false")
}

// share creates a link to a directory in the cache below temp. If it fails, the cache begins empty. Links in temp, which earlier processes
// may have created, cannot lead out of it, nor can a link in place of temp.
func share(temp, cache, dir string) {
	root, err := os.OpenRoot(filepath.Dir(temp))
	if err != nil {
		return
	}
	defer root.Close() // only read
	cache = filepath.Join(filepath.Base(temp), cache)
	_ = root.Mkdir(cache, 0o700)
	_ = root.Symlink(dir, filepath.Join(cache, filepath.Base(dir)))
}
