package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// Default limits.
const (
	MaxFile   = 2 << 20
	MaxRecord = 64 << 20
	MaxFiles  = 50_000
	MaxBytes  = 1 << 30
	KeepFor   = 7 * 24 * time.Hour
	MaxTime   = 20 * time.Second

	MaxRemoval = time.Second
)

// Limits bound the states. The default of a field is the constant of the same name.
type Limits struct {
	MaxFile   int64         // maximum bytes of a file that Take keeps
	MaxRecord int64         // maximum bytes of a file that Record keeps
	MaxFiles  int           // maximum new files in one Take
	MaxBytes  int64         // size of the store in bytes above which old states are removed early
	KeepFor   time.Duration // how long a state is kept
	MaxTime   time.Duration // of one Take; a project that takes longer has no snapshots for a day

	MaxRemoval time.Duration // after which Collect removes the states of no further project
}

// complete fills in the default limits.
func (l Limits) complete() Limits {
	return Limits{
		cmp.Or(l.MaxFile, MaxFile), cmp.Or(l.MaxRecord, MaxRecord), cmp.Or(l.MaxFiles, MaxFiles),
		cmp.Or(l.MaxBytes, MaxBytes), cmp.Or(l.KeepFor, KeepFor), cmp.Or(l.MaxTime, MaxTime),
		cmp.Or(l.MaxRemoval, MaxRemoval),
	}
}

var (
	// ErrOff is returned if states are not recorded here; the text has the reason.
	ErrOff = errors.New("file changes are not recorded")
	// ErrGone is returned if a content is no longer stored.
	ErrGone = errors.New("content is no longer stored")
)

// Options locate the files and the store of their states. Dir and Worktree are required.
type Options struct {
	Dir      string   // for all projects; the directory of this project is below it
	Worktree string   // absolute
	Home     string   // the user's home: Take records no states of it and of directories that contain it
	Off      string   // why Take records no states; empty if it does
	Exclude  []string // absolute names of files and directories that are never recorded
	Git      string   // the command; empty: the git in PATH
	Limits   Limits
}

// Repo keeps the states of one project. Safe for use from many goroutines and processes.
type Repo struct {
	worktree string // without symbolic links
	dir      string
	git      string
	exclude  []string // real paths
	limits   Limits
	off      string // why Take records no states

	slow    atomic.Bool // Take took too long in this project
	packers sync.Pool   // of *zlib.Writer

	mu     sync.Mutex // held while a state is taken
	locked bool       // another process had the lock for too long
	last   *node      // the latest state that is known; nil: none
	saved  time.Time  // when it was last written to the disk
	since  int        // files that were read since then
}

// Open returns the states of a project. It starts nothing and writes nothing. Errors: ErrOff without git or if the project does not exist.
func Open(o Options) (*Repo, error) {
	worktree, err := filepath.EvalSymlinks(o.Worktree)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOff, err)
	}
	git, err := projectfs.LookPath(cmp.Or(o.Git, "git"), worktree)
	if err != nil {
		return nil, fmt.Errorf("%w: git not found in PATH", ErrOff)
	}
	sum := sha256.Sum256([]byte(worktree))
	r := &Repo{worktree: worktree, dir: filepath.Join(o.Dir, hex.EncodeToString(sum[:8])), git: git, limits: o.Limits.complete(), off: o.Off}
	switch {
	case filepath.Dir(worktree) == worktree:
		r.off = "the project is the root of a file system"
	case o.Home != "" && projectfs.Inside(worktree, projectfs.Real(o.Home)):
		r.off = "the project is a home directory"
	}
	for _, name := range append([]string{o.Dir}, o.Exclude...) {
		r.exclude = append(r.exclude, projectfs.Real(name))
	}
	if info, err := os.Stat(filepath.Join(r.dir, slowMark)); err == nil {
		r.slow.Store(time.Since(info.ModTime()).Abs() < 24*time.Hour) // the clock may have been ahead
	}
	return r, nil
}

// slowMark is the file that marks a project whose snapshot took too long.
const slowMark = "slow"

// descriptionFile names the project for users. It is written last when the git directory is made.
const descriptionFile = "description"

func (r *Repo) description() string { return filepath.Join(r.dir, descriptionFile) }

// prepare makes the git directory if it does not exist. The caller holds mu and the lock.
func (r *Repo) prepare(ctx context.Context) error {
	if _, err := os.Stat(r.description()); err == nil {
		return nil
	}
	for _, name := range []string{"HEAD", "HEAD.lock", "config", "config.lock"} { // left by a git that was killed or ran out of space
		if err := ignoreMissing(os.Remove(filepath.Join(r.dir, name))); err != nil {
			return err
		}
	}
	if _, err := r.run(ctx, nil, "init", "-q", "--bare", "--template=", r.dir); err != nil {
		return fmt.Errorf("make %s: %w", r.dir, err)
	}
	return os.WriteFile(r.description(), []byte(r.worktree+"\n"), 0o600)
}

// cleanEnv returns the environment of git, without variables that configure it.
func cleanEnv() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_DEFAULT_HASH=sha1", "LC_ALL=C",
	}
	for _, name := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP", "TMP"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// command returns a git command that knows only our directory, and neither the project's files nor the user's repository.
func (r *Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git, append([]string{"-c", "gc.auto=0", "-c", "gc.packRefs=false", "-c", "core.compression=1"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(cleanEnv(), "GIT_DIR="+r.dir)
	return cmd
}

// run runs git and returns its output. in may be nil.
func (r *Repo) run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	cmd := r.command(ctx, args...)
	if args[0] == "gc" {
		cmd.WaitDelay = time.Second // its programs, which keep its output open; no other command starts any, and a large output takes its time
	}
	var out, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), cmp.Or(ctx.Err(), err), bytes.TrimSpace(problem.Bytes()))
	}
	return out.Bytes(), nil
}

const (
	lockFile = "lock"
	// lockWait is how long a call waits for another process that works on the store: the maximum time of a snapshot. Removing old states can
	// take longer.
	lockWait = MaxTime
	// lockRetry is the wait of calls after a call that waited in vain.
	lockRetry = time.Second
)

// exclusive runs f while no other goroutine or process works on the store. Errors: filelock.ErrLocked.
func (r *Repo) exclusive(ctx context.Context, f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := lockWait
	if r.locked {
		wait = lockRetry
	}
	err := filelock.Do(ctx, filepath.Join(r.dir, lockFile), wait, func() error {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		return f()
	})
	r.locked = errors.Is(err, filelock.ErrLocked)
	return err
}
