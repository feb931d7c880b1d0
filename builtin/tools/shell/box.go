package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/sdk"
)

var errSwitchedOff = errors.New("the configuration switches the sandbox off (sandbox)")

// box confines the commands in a project. Its rules are built for the first command, and rebuilt when files are added to or removed from a
// directory that commands see only in parts. The fields before mu are set once; the rest is safe for concurrent use.
type box struct {
	project sdk.Project
	config  sdk.SandboxConfig
	skills  []string        // directories
	git     *gitkeep.Keeper // nil before Start

	mu     sync.Mutex
	rules  *confine.Ruleset // nil until they are built
	write  []string         // paths that the rules make writable
	secret []string         // paths of secrets that the rules hide
	tmp    string           // contains the temporary directories of sessions; empty before the first
	made   *os.File         // tmp, open: while it is, no other directory is taken for it
	ended  bool             // close was called
}

// open builds the rules. Errors are errSwitchedOff, confine.ErrUnsupported, a *confine.ConflictError for a project that contains hidden
// paths, and errors in the configuration.
func (b *box) open(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if on := b.config.Enabled; on != nil && !*on {
		return errSwitchedOff
	}
	if _, err := confine.Supported(); err != nil {
		return err
	}
	return b.ready(ctx)
}

// start starts a command under the rules. Rules that files have outdated are rebuilt first; if that fails, the command does not start,
// because the user was not asked whether it may run unconfined.
func (b *box) start(ctx context.Context, start func() error) error {
	b.mu.Lock() // the rules stay open until the command has started
	defer b.mu.Unlock()
	if b.rules != nil && b.rules.Stale() {
		b.release()
	}
	if err := b.ready(ctx); err != nil {
		return outdated(err)
	}
	return b.rules.Do(start)
}

// ready builds the rules unless they exist.
func (b *box) ready(ctx context.Context) error {
	if !b.hasTemporary() { // rules hold for directories, not for names
		b.release()
	}
	if b.rules != nil {
		return nil
	}
	if b.ended { // by a call that was abandoned
		return errEnded
	}
	policy, err := b.policy(ctx)
	if err == nil {
		b.rules, err = confine.New(policy)
	}
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	b.write = policy.Write
	return nil
}

// release releases the rules; later commands build them again.
func (b *box) release() {
	if b.rules != nil {
		_ = b.rules.Close() // only a descriptor
		b.rules = nil
	}
}

// policy returns the policy for commands in the project.
func (b *box) policy(ctx context.Context) (confine.Policy, error) {
	list, err := sandbox.Find(sandbox.Options{Project: b.project, Environ: os.Environ(), Config: b.config, Skills: b.skills, Create: true})
	if err != nil {
		return confine.Policy{}, err
	}
	if !b.hasTemporary() {
		tmp, err := child.MakeTemporary("", "tenon-")
		if err != nil {
			return confine.Policy{}, err
		}
		b.made.Close() // only read from; nil at first
		if b.made, err = os.Open(tmp); err != nil {
			return confine.Policy{}, errors.Join(err, child.RemoveAll(tmp))
		}
		b.tmp = tmp
	}
	policy := sandbox.Policy(list, append(linkedRepository(ctx, b.project.Worktree), b.project.Worktree, b.tmp)...)
	b.secret = nil
	for _, path := range list {
		if path.Secret() && slices.Contains(policy.Hide, path.Path) {
			b.secret = append(b.secret, path.Path)
		}
	}
	return policy, nil
}

// hasTemporary reports whether the temporary directory exists. Systems remove old temporary files; another user may then use the name.
func (b *box) hasTemporary() bool {
	info, err := os.Lstat(b.tmp)
	made, unread := b.made.Stat() // an error before it is made
	return err == nil && unread == nil && os.SameFile(info, made)
}

var errEnded = errors.New("sandbox: tenon no longer runs commands")

// temporary returns the directory that contains the temporary directories of sessions; it is empty before the first.
func (b *box) temporary() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tmp
}

// linkedRepository returns the common directory of the repository of a linked working tree if the two name each other: .git names a
// directory in the repository, gitdir in that directory names this .git, and commondir names the repository. So a .git file in a project
// cannot name any other repository. git, which does not check gitdir itself, must find the same directory.
func linkedRepository(ctx context.Context, worktree string) []string {
	dirs := gitkeep.Directories(worktree)
	if info, err := os.Lstat(filepath.Join(worktree, ".git")); len(dirs) < 2 || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	dir, common := projectfs.Real(dirs[0]), projectfs.Real(dirs[1])
	back, err := projectfs.ReadRegular(filepath.Join(dir, "gitdir"), maxPointer) // a command may have put a named pipe there
	if err != nil || projectfs.Real(projectfs.Pointed(dir, string(back))) != projectfs.Real(filepath.Join(worktree, ".git")) || filepath.Join(common, "worktrees", filepath.Base(dir)) != dir {
		return nil
	}
	found, err := askGit(context.WithoutCancel(ctx), worktree, worktree, "rev-parse", "--git-common-dir")
	if err != nil || projectfs.Real(projectfs.Pointed(worktree, found)) != common {
		return nil
	}
	return []string{common}
}

// maxPointer is git's own limit for files such as .git, in bytes.
const maxPointer = 1 << 20

// close removes the temporary files and releases the rules.
func (b *box) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.release()
	if b.made == nil {
		return nil
	}
	exists := b.hasTemporary()
	err := b.made.Close()
	if exists {
		err = errors.Join(err, child.RemoveAll(b.tmp))
	}
	b.made, b.tmp = nil, ""
	return err
}

// endTurn restores changes to git's settings and hooks that could not be restored after their command. It returns messages about them and
// about changes that other processes have made since the last command.
func (b *box) endTurn(ctx context.Context) []string {
	if b.temporary() == "" {
		return nil // no command ran
	}
	return b.git.EndTurn(context.WithoutCancel(ctx))
}

// confinedCall marks a call for which Prepare requested the permissions of a confined command.
type confinedCall struct{}

// outdated returns the error for a command that could be confined when Prepare requested its permissions, and that
// can no longer be confined.
func outdated(err error) error {
	if free(err) {
		return fmt.Errorf("not run, because its permission was for a confined command: %w; try again", err)
	}
	return err
}

// enter prepares a command and returns the session's temporary directory, or "" if the command runs unconfined. Whether it may run that way
// was decided by the permissions that Prepare requested.
func (b *box) enter(ctx context.Context, call *sdk.ToolCall, args *bashArgs) (tmp string, err error) {
	if args.Unconfined {
		return "", nil
	}
	err = b.open(ctx)
	_, confined := call.Prepared.(confinedCall)
	if free(err) && !confined {
		return "", nil
	}
	if err != nil {
		return "", outdated(err)
	}
	tmp = filepath.Join(b.temporary(), "session-"+strings.Map(plain, call.SessionID))
	if err := os.Mkdir(tmp, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("temporary directory of the command: %w", err)
	}
	b.git.Enter(ctx)
	return tmp, nil
}

// plain replaces characters that are unusual in the name of a file.
func plain(r rune) rune {
	if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return '-'
}

// free reports whether commands run unconfined for a reason other than a failure.
func free(err error) bool {
	return errors.Is(err, errSwitchedOff) || errors.Is(err, confine.ErrUnsupported) || errors.As(err, new(*confine.ConflictError))
}

func worktreeOf(call *sdk.ToolCall) string {
	return cmp.Or(call.Worktree, call.Directory)
}

// environ returns the environment of a confined command, with the session's temporary directory.
func (b *box) environ(env []string, tmp string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return child.Temporary(env, tmp, b.write)
}

// leave restores changes to git and returns notes for the model and the user. It is called when all processes of a confined command have ended,
// or, if ended is false, could not be ended.
func (b *box) leave(ctx context.Context, j *job, end *ending, ended bool) []string {
	var notes []string
	for _, note := range b.git.Leave(context.WithoutCancel(ctx), ended) {
		notes = append(notes, "Commands must not change programs that git runs automatically: "+note+".")
	}
	failed, searched := end.exit != 0, liveBytes
	if !failed { // of several programs, only the last one's status is known; a file may contain such a message, and a search shows it
		failed, searched = strings.ContainsAny(j.command, "|;\n") && !confine.Refused(j.command), 1000
	}
	if output := j.out.last(searched); failed && !end.aborted && confine.Refused(output) {
		notes = append(notes, fmt.Sprintf("The command ran confined, which may be why access was denied: it writes only %s, $TMPDIR and caches, and cannot read secrets, tenon's files or /tmp. "+
			"The user sees all paths with: tenon permission sandbox. If it needs more, call bash again with unconfined: true, which asks the user.", b.project.Worktree))
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, path := range b.secret {
			if strings.Contains(output, path) {
				notes = append(notes, fmt.Sprintf("%s is hidden because it may contain keys. If it contains none, the user can make it readable with sandbox.read in their own tenon.json.", path))
			}
		}
	}
	return notes
}
