package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// GlobalProject is the project ID of work outside any repository.
const GlobalProject = "global"

// gitTimeout bounds the search for the root commit, which walks the whole history once per repository.
const gitTimeout = 3 * time.Second

// isCommit reports whether git prints this for a commit, by SHA-1 or SHA-256.
func isCommit(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// findWorktree searches dir and its parents for the root of a git repository, which has a .git directory or, in a worktree or
// submodule, a .git file. It reads two files and starts no process.
func findWorktree(dir string) (root string, found bool) {
	for {
		if isGit(filepath.Join(dir, ".git")) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func isGit(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		_, err := os.Stat(filepath.Join(path, "HEAD"))
		return err == nil
	case !info.Mode().IsRegular() || info.Size() > 1<<16:
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(content, []byte("gitdir: "))
}

// projectID finds the ID of a repository, its root commit. Because git takes milliseconds, or seconds for a long history, the ID is
// cached in the data directory, and git runs in parallel to the rest of the start.
type projectID struct {
	done  chan struct{} // closed when id is set
	id    string
	cache string // the file that keeps the ID
	fresh bool   // the ID comes from git and is not cached yet
}

// lookUpProject starts the search. Its goroutine ends with git, after gitTimeout at the latest; wait waits for it.
func lookUpProject(ctx context.Context, worktree, dataDir string) *projectID {
	p := &projectID{done: make(chan struct{}), id: GlobalProject, cache: filepath.Join(dataDir, "projects", projectKey(worktree))}
	if content, err := os.ReadFile(p.cache); err == nil {
		if id := strings.TrimSpace(string(content)); isCommit(id) {
			p.id = id
			close(p.done)
			return p
		}
	}
	go func() {
		defer close(p.done)
		if id := rootCommit(ctx, worktree); id != "" {
			p.id, p.fresh = id, true
		}
	}()
	return p
}

// projectKey is the name of a worktree in the cache.
func projectKey(worktree string) string {
	sum := sha256.Sum256([]byte(worktree))
	return hex.EncodeToString(sum[:8])
}

// wait returns the ID, or GlobalProject if git is missing or too slow or the repository is empty.
func (p *projectID) wait() string {
	<-p.done
	return p.id
}

// rootCommit returns the first of the root commits in alphabetical order. A repository can configure programs for git to run,
// so everything that could make git fetch is disabled.
func rootCommit(ctx context.Context, worktree string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	git, _ := projectfs.LookPath("git", worktree) // without one, Output fails
	cmd := exec.CommandContext(ctx, git, "rev-list", "--max-parents=0", "HEAD")
	cmd.Dir, cmd.Env = worktree, child.GitEnviron(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	roots := strings.Fields(string(out))
	slices.Sort(roots)
	if len(roots) == 0 || !isCommit(roots[0]) {
		return ""
	}
	return roots[0]
}

// keepProject caches the ID. Errors do not matter: the next start asks git again.
func keepProject(cache, id string) {
	if os.MkdirAll(filepath.Dir(cache), 0o700) != nil {
		return
	}
	_ = atomicfile.Write(cache, []byte(id+"\n"), atomicfile.Options{})
}

// environ is a process environment that tests can replace.
type environ []string

// Lookup returns the value of a variable, or "" if it is not set.
func (e environ) Lookup(name string) string {
	value, _ := child.Lookup(e, name)
	return value
}

// FindDirs returns a project with the user's directories as absolute paths. They follow the XDG variables, except relative paths, or else the
// conventions of the system. dataFlag and TENON_DATA_DIR name the data directory itself. No directory is empty, because files of the working
// directory would then count as the user's own.
func FindDirs(env environ, dataFlag string) (sdk.Project, error) {
	home, _ := os.UserHomeDir() // unknown directories are empty
	config, err := os.UserConfigDir()
	if err != nil && home != "" { // XDG_CONFIG_HOME is relative
		config = filepath.Join(home, ".config")
	}
	cache, err := os.UserCacheDir()
	if err != nil && home != "" { // XDG_CACHE_HOME is relative
		cache = filepath.Join(home, ".cache")
	}
	d := sdk.Project{Home: home, ConfigDir: userDir(env, "XDG_CONFIG_HOME", config)}
	if chosen := cmp.Or(dataFlag, env.Lookup("TENON_DATA_DIR")); chosen != "" {
		dir, err := filepath.Abs(chosen)
		if err != nil {
			return d, err
		}
		d.DataDir, d.CacheDir = dir, filepath.Join(dir, "cache") // a chosen data directory holds all data
	} else {
		d.DataDir, d.CacheDir = userDir(env, "XDG_DATA_HOME", systemData(env, home)), userDir(env, "XDG_CACHE_HOME", cache)
	}
	if d.DataDir == "" {
		return d, UsageError("set HOME, or name a data directory with --data-dir DIR or TENON_DATA_DIR", "no home directory to store sessions in")
	}
	d.ConfigDir = cmp.Or(d.ConfigDir, filepath.Join(d.DataDir, "config"))
	d.CacheDir = cmp.Or(d.CacheDir, filepath.Join(d.DataDir, "cache"))
	return d, nil
}

// userDir returns tenon's directory in that of an XDG variable, else in the system's; empty if neither is known.
func userDir(env environ, name, system string) string {
	base := system
	if dir := env.Lookup(name); filepath.IsAbs(dir) {
		base = dir
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "tenon")
}

// systemData returns the system's directory for data of programs, or "".
func systemData(env environ, home string) string {
	switch {
	case runtime.GOOS == "windows":
		return env.Lookup("LOCALAPPDATA")
	case home == "":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".local", "share")
}
