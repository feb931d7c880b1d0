package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// gitWords returns a git command without its harmless global options -C, --no-pager and --no-optional-locks, and sets the base
// directory that -C changes.
func (j *judge) gitWords(words []word) []word {
	args := words[1:]
	for len(args) > 0 {
		switch {
		case args[0].text == "--no-pager", args[0].text == "--no-optional-locks":
			args = args[1:]
		case args[0].text == "-C" && len(args) > 1 && args[1].glob == "" && j.path(args[1].text) == nil:
			j.base, args = from(j.base, args[1].text), args[2:]
		default:
			return append(words[:1:1], args...)
		}
	}
	return words[:1]
}

// NewGit matches the versions of git that know safe.bareRepository, from 2.38 on. With older ones, no use of git is harmless.
var NewGit = lazyregexp.New(`^git version (?:2\.(?:3[89]|[4-9]\d|\d{3})|[3-9]|\d\d)`)

// checkGit asks git for the settings of the repository that it finds from dir, for its hooks, and for its submodules, which git status enters.
// It returns an error if git may run a program that one of these names, or a hook of the repository that the command pushes to. Where git finds no
// repository, it runs nothing.
func checkGit(ctx context.Context, project, dir string, words []word) error {
	where, err := askGit(ctx, project, dir, "rev-parse", "--git-path", "hooks", "--show-toplevel")
	if refused, ok := errors.AsType[*exec.ExitError](err); ok && strings.HasPrefix(string(refused.Stderr), "fatal: not a git repository (or any") {
		return nil
	}
	paths := strings.Split(strings.TrimSuffix(where, "\n"), "\n")
	version, versionErr := askGit(ctx, project, dir, "version")
	settings, settingsErr := askGit(ctx, project, dir, "config", "--list", "--includes", "--show-scope", "-z")
	if err := errors.Join(err, versionErr, settingsErr); err != nil || len(paths) != 2 || !NewGit().MatchString(version) {
		return fmt.Errorf("git older than 2.38, or a repository that git cannot read")
	}
	var remotes []string
	fields := strings.Split(settings, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		ours := fields[i] == "system" || fields[i] == "global" || fields[i] == "command"
		if !ours && (!gitkeep.Harmless(key) || strings.Contains(value, "::")) {
			return fmt.Errorf("git with the setting %s = %.200s of the repository", key, value)
		}
		if remoteKey().MatchString(key) {
			remotes = append(remotes, value)
		}
	}
	if len(words) > 1 && (words[1].text == "push" || words[1].text == "send-pack") {
		for _, w := range words[2:] {
			_, value, _ := strings.Cut(w.text, "=")
			remotes = append(remotes, w.text, value)
		}
		if i := slices.IndexFunc(remotes, func(remote string) bool { return local(remote, dir, paths[1]) }); i >= 0 {
			return fmt.Errorf("git push to %.200s, a repository on this machine, whose hooks it runs", remotes[i])
		}
	}
	hooks := projectfs.Join(dir, paths[0])
	entries, err := os.ReadDir(hooks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // git runs hooks in a directory that cannot be listed
		return fmt.Errorf("git with hooks of the repository that cannot be read: %w", err)
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(hooks, e.Name()))
		if filepath.Ext(e.Name()) != ".sample" && (err != nil || info.Mode().IsRegular() && info.Mode()&0o111 != 0) {
			return fmt.Errorf("git with the hook %s of the repository", e.Name())
		}
	}
	index, err := askGit(ctx, project, paths[1], "ls-files", "--stage", "-z")
	if err != nil {
		return fmt.Errorf("git with an index that cannot be read: %w", err)
	}
	for _, name := range gitkeep.Links(index) {
		if exists(filepath.Join(paths[1], name, ".git")) {
			return fmt.Errorf("git in a repository with the submodule %q, whose settings it follows", name)
		}
	}
	return nil
}

// remoteKey matches the settings that say where git push goes.
var remoteKey = lazyregexp.New(`^(remote\..+\.(url|pushurl)|remote\.pushdefault|branch\..+\.(remote|pushremote))$`)

// network matches the texts that git takes for addresses of other machines instead of paths: scheme://… and host:path.
var network = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*://|[^/:]+:)`)

// local reports whether git push may read remote as the path of a repository on this machine. git resolves a path from the top of the working tree
// and from dir; the name of a remote may also be the name of a file there. "." is the repository itself, whose own hooks are checked.
func local(remote, dir, top string) bool {
	switch {
	case remote == "" || remote == ".":
		return false
	case strings.HasPrefix(remote, "file:") || filepath.IsAbs(remote):
		return true
	case network().MatchString(remote):
		return false
	}
	return slices.ContainsFunc([]string{dir, top, filepath.Join(top, ".git", "remotes"), filepath.Join(top, ".git", "branches")}, func(base string) bool {
		at := from(base, remote)
		return exists(at) || exists(at+".git")
	})
}

// askGit runs git in the way a command would, and returns its output.
func askGit(ctx context.Context, project, dir string, args ...string) (string, error) {
	return gitkeep.Git(ctx, project, dir, withGitEnv(os.Environ()), args...)
}
