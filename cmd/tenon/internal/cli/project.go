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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// GlobalProject is the project ID of work outside any repository.
const GlobalProject = "global"

const (
	// gitTimeout bounds the search for the root commit, which walks the whole history once per repository.
	gitTimeout = 10 * time.Second
	// commandTimeout bounds any other git command.
	commandTimeout = 3 * time.Second
)

// isCommit reports whether the text has the form of a commit's ID, in SHA-1 or SHA-256.
func isCommit(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// findWorktree searches dir and its parents for the root of a git repository, which has a .git directory or, in a worktree or
// submodule, a .git file. It reads two files and starts no process.
func findWorktree(dir string) (root string, found bool) {
	for parent := filepath.Dir(dir); !isGit(filepath.Join(dir, ".git")); dir, parent = parent, filepath.Dir(parent) {
		if parent == dir {
			return "", false
		}
	}
	return dir, true
}

// acceptable reports whether a repository belongs to the user, or git accepts it (safe.directory). Anybody can create a repository in /tmp,
// above the directories of others: its instructions would reach their models, and their commands could write to all of it.
func acceptable(ctx context.Context, worktree string) bool {
	return projectfs.Owned(filepath.Join(worktree, ".git")) || Git(ctx, worktree, "rev-parse", "--show-prefix") == "\n" // not one further up
}

func isGit(path string) bool {
	if _, err := os.Stat(filepath.Join(path, "HEAD")); err == nil {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(content, []byte("gitdir: "))
}

// projectID finds the ID of a repository, its root commit. Because git takes milliseconds, or seconds for a long history, the ID is
// cached in the data directory, and git runs in parallel to the rest of the start.
type projectID struct {
	// wait returns the ID, or GlobalProject if git is missing or if the repository is empty. fresh means that the ID is not cached yet.
	wait  func() (id string, fresh bool)
	cache string // the file that keeps the ID and made
	made  string // when the repository was made; another one at the same path is another project
	known bool   // there was a project at this path before
}

// lookUpProject starts the search. Its goroutine ends with git, after gitTimeout at the latest.
func lookUpProject(ctx context.Context, worktree, dataDir string) *projectID {
	sum := sha256.Sum256([]byte(worktree))
	p := &projectID{cache: filepath.Join(dataDir, "projects", hex.EncodeToString(sum[:8])), made: madeAt(worktree)}
	content, err := os.ReadFile(p.cache)
	p.known = err == nil
	if id, made, _ := strings.Cut(strings.TrimSpace(string(content)), " "); isCommit(id) && made == p.made {
		p.wait = func() (string, bool) { return id, false }
		return p
	}
	p.wait = sync.OnceValues(func() (string, bool) {
		id := rootCommit(ctx, worktree, p.made, gitTimeout)
		return cmp.Or(id, GlobalProject), id != ""
	})
	go p.wait()
	return p
}

// madeAt returns the time of a file that git writes when it makes a repository or a linked worktree, whose .git is a file. Without templates,
// git config changes the time, and the ID is looked up again.
func madeAt(worktree string) string {
	for _, name := range []string{".git/description", ".git/config", ".git"} {
		if info, err := os.Stat(filepath.Join(worktree, name)); err == nil {
			return strconv.FormatInt(info.ModTime().UnixNano(), 10)
		}
	}
	return ""
}

// rootCommit returns the first of the root commits in alphabetical order; "" if there is none. If git takes longer than limit, as it would at
// every start, it returns an ID made from the path and the time when the repository was made.
func rootCommit(ctx context.Context, worktree, made string, limit time.Duration) string {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	roots := strings.Fields(git(limited, worktree, "rev-list", "--max-parents=0", "HEAD"))
	if len(roots) == 0 && limited.Err() != nil && ctx.Err() == nil {
		sum := sha256.Sum256([]byte(worktree + "\x00" + made))
		return hex.EncodeToString(sum[:])
	}
	slices.Sort(roots)
	if len(roots) == 0 || !isCommit(roots[0]) {
		return ""
	}
	return roots[0]
}

// Git returns the output of a git command, or "" if it fails. A repository can configure programs for git to run, so everything that could make
// git fetch is disabled.
func Git(ctx context.Context, worktree string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return git(ctx, worktree, args...)
}

// git is Git until ctx ends.
func git(ctx context.Context, worktree string, args ...string) string {
	path, _ := projectfs.LookPath("git", worktree) // without git, Output fails
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = worktree, child.GitEnviron(os.Environ())
	child.Prepare(cmd)
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// keep caches the ID. Errors do not matter: the next start asks git again.
func (p *projectID) keep(id string) {
	_ = atomicfile.Write(p.cache, []byte(id+" "+p.made+"\n"), atomicfile.Options{MakeDirs: 0o700})
}

// environ is a process environment that tests can replace.
type environ []string

// Lookup returns the value of a variable, or "" if it is not set.
func (e environ) Lookup(name string) string {
	value, _ := child.Lookup(e, name)
	return value
}

// FindDirs returns a project with the user's directories as absolute paths: with relative ones, files of a repository would count as the
// user's own. They follow the XDG variables, except relative paths, or else the conventions of the system. dataFlag and TENON_DATA_DIR name
// the data directory itself. Without a home directory, the others are in the data directory.
func FindDirs(env environ, dataFlag string) (sdk.Project, error) {
	home, _ := os.UserHomeDir() // unknown directories are empty
	if !filepath.IsAbs(home) {
		home = ""
	}
	config, data := systemDirs(env, home)
	cache, _ := os.UserCacheDir() // relative directories in variables are ignored
	d := sdk.Project{Home: home, ConfigDir: userDir(env.Lookup("XDG_CONFIG_HOME"), config, filepath.Join(home, ".config"))}
	if chosen := cmp.Or(dataFlag, env.Lookup("TENON_DATA_DIR")); chosen != "" {
		d.DataDir, _ = filepath.Abs(chosen) // holds the cache, too; empty without a working directory
	} else {
		d.CacheDir = userDir(env.Lookup("XDG_CACHE_HOME"), cache, filepath.Join(home, ".cache"))
		d.DataDir = userDir(env.Lookup("XDG_DATA_HOME"), data)
	}
	if d.DataDir == "" {
		return d, UsageError("set HOME, or name a data directory with --data-dir DIR or TENON_DATA_DIR", "no home directory to store sessions in")
	}
	if d.CacheDir == d.DataDir { // Windows has one directory for both; a cache can be deleted
		d.CacheDir = ""
	}
	for dir, name := range map[*string]string{&d.Home: "home", &d.ConfigDir: "config", &d.CacheDir: "cache"} {
		*dir = cmp.Or(*dir, filepath.Join(d.DataDir, name))
	}
	return d, nil
}

// userDir returns tenon's directory in the first parent that is absolute, or "".
func userDir(parents ...string) string {
	for _, parent := range parents {
		if filepath.IsAbs(parent) {
			return filepath.Join(parent, "tenon")
		}
	}
	return ""
}

// systemDirs returns the system's directories for configuration and data of programs. On macOS both would be the same directory,
// although each has a subdirectory plugins. So the configuration is where other command-line tools have it.
func systemDirs(env environ, home string) (config, data string) {
	switch config = filepath.Join(home, ".config"); runtime.GOOS {
	case "windows":
		return env.Lookup("APPDATA"), env.Lookup("LOCALAPPDATA")
	case "darwin":
		return config, filepath.Join(home, "Library", "Application Support")
	}
	return config, filepath.Join(home, ".local", "share")
}
