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

// EditPatterns returns the patterns that rules for editing the file at abs must match: those of its path, and the name in .git under which git
// uses it.
func EditPatterns(ctx context.Context, call *sdk.ToolCall, abs string) []string {
	patterns := paths.Patterns(call, abs)
	if name := used(ctx, cmp.Or(call.Worktree, call.Directory), paths.Real(abs)); name != "" {
		patterns = append(patterns, name)
	}
	return patterns
}

// plain are names of directories that rules for editing know anyway.
var plain = []string{".git", ".githooks", ".husky"}

// used returns the name in .git under which git uses a file, such as .git/hooks/pre-commit, if its real path does not show it: .git is a link
// or names another directory, or core.hooksPath names the directory of the file. It is empty for all other files.
func used(ctx context.Context, project, real string) string {
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(real), "/"), func(name string) bool { return slices.Contains(plain, name) }) {
		return ""
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if name := usedBy(ctx, project, dir, real); name != "" {
				return name
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// usedBy is used for the repository of one working tree.
func usedBy(ctx context.Context, project, worktree, real string) string {
	out, err := Git(ctx, project, worktree, child.GitEnviron(os.Environ()), "rev-parse", "--path-format=absolute", "--git-path", "hooks", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return "" // no repository that git works in
	}
	for i, dir := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		dir = paths.Real(dir)
		if !projectfs.Within(dir, real) {
			continue
		}
		name := filepath.Base(real)
		if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) { // else the case differs
			name = filepath.ToSlash(rel)
		}
		if i == 0 {
			return ".git/hooks/" + name
		}
		return ".git/" + name
	}
	return ""
}
