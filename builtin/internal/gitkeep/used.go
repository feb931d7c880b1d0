package gitkeep

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// EditPatterns returns the patterns that rules for editing the files must match: those of their paths, and the names in .git under which git uses
// them.
func EditPatterns(ctx context.Context, call *sdk.ToolCall, files ...string) (patterns []string) {
	f := gitFiles{project: cmp.Or(call.Worktree, call.Directory), dirs: map[string][]string{}}
	for _, file := range files {
		patterns = append(patterns, paths.Patterns(call, file)...)
		if name := f.name(ctx, paths.Real(file)); name != "" {
			patterns = append(patterns, name)
		}
	}
	return patterns
}

// gitFiles finds the names under which git uses files.
type gitFiles struct {
	project string
	dirs    map[string][]string // by working tree: the directory of hooks, then the git directories
}

// plain are names of directories that rules for editing already recognize.
var plain = []string{".git", ".githooks", ".husky"}

// name returns the name in .git under which git uses a file, such as .git/hooks/pre-commit, if its real path does not show it: .git is a link
// or names another directory, or core.hooksPath names the directory of the file. It is empty for all other files.
func (f *gitFiles) name(ctx context.Context, real string) string {
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(real), "/"), func(name string) bool { return slices.Contains(plain, name) }) {
		return ""
	}
	for worktree := filepath.Dir(real); ; worktree = filepath.Dir(worktree) {
		for i, dir := range f.of(ctx, worktree, hookName(filepath.Base(real))) {
			if !projectfs.Within(dir, real) {
				continue
			}
			name := filepath.Base(real)
			if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) { // otherwise only the case differs
				name = filepath.ToSlash(rel)
			}
			if i == 0 {
				return ".git/hooks/" + name
			}
			return ".git/" + name
		}
		if worktree == filepath.Dir(worktree) {
			return ""
		}
	}
}

// of returns the real directories of the repository with a working tree; none if git does not work in one. Where .git is an ordinary directory, git is
// asked only about a file with the name of a hook: all others that git uses are in .git.
func (f *gitFiles) of(ctx context.Context, worktree string, hook bool) []string {
	info, err := os.Lstat(filepath.Join(worktree, ".git"))
	if err != nil || info.IsDir() && !hook {
		return nil
	}
	if dirs, known := f.dirs[worktree]; known {
		return dirs
	}
	var dirs []string
	out, err := Git(ctx, f.project, worktree, child.GitEnviron(os.Environ()), "rev-parse", "--git-path", "hooks/", "--git-dir", "--git-common-dir")
	if err == nil {
		for dir := range strings.Lines(out) { // relative ones too: git older than 2.31 cannot make all of them absolute
			if dir == "/\n" { // core.hooksPath is empty: no file of the repository is a hook
				dir = os.DevNull
			}
			dirs = append(dirs, paths.Real(projectfs.Pointed(worktree, dir)))
		}
	}
	f.dirs[worktree] = dirs
	return dirs
}
