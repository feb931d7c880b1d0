package gitkeep_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/sdk"
)

// A file that git uses has the name in .git among its patterns, whatever directory it is in.
func TestEditPatterns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, file string
		want         []string
	}{
		"another file":             {"git init -q . && git config core.hooksPath scripts", "src/a", []string{"src/a"}},
		"no repository":            {"mkdir scripts", "scripts/pre-commit", []string{"scripts/pre-commit"}},
		"in .git":                  {"git init -q .", ".git/hooks/pre-commit", []string{".git/hooks/pre-commit"}},
		"a hooks path":             {"git init -q . && git config core.hooksPath scripts", "scripts/pre-commit", []string{"scripts/pre-commit", ".git/hooks/pre-commit"}},
		"not a hook":               {"git init -q . && git config core.hooksPath scripts", "scripts/lib/x.sh", []string{"scripts/lib/x.sh"}},
		"an empty hooks path":      {"git init -q . && git config core.hooksPath ''", "pre-commit", []string{"pre-commit"}},
		"in a linked tree":         {"git init -q a && git -C a config core.hooksPath '' && git -C a -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git -C a worktree add -q ../b", "b/src/a", []string{"b/src/a"}},
		"the working tree":         {"git init -q . && git config core.hooksPath .//.", "pre-commit", []string{"pre-commit", ".git/hooks/pre-commit"}},
		"a known hooks path":       {"git init -q . && git config core.hooksPath .githooks", ".githooks/pre-commit", []string{".githooks/pre-commit"}},
		"a link to it":             {"git init -q . && git config core.hooksPath scripts && mkdir scripts && ln -s scripts s", "s/pre-commit", []string{"s/pre-commit", "scripts/pre-commit", ".git/hooks/pre-commit"}},
		"a link .git":              {"git init -q . && mv .git store && ln -s store .git", "store/hooks/pre-commit", []string{"store/hooks/pre-commit", ".git/hooks/pre-commit"}},
		"through it":               {"git init -q . && mv .git store && ln -s store .git", ".git/config", []string{".git/config", "store/config", ".git/config"}},
		"a file .git":              {"git init -q --separate-git-dir store .", "store/config", []string{"store/config", ".git/config"}},
		"hooks are a link":         {"git init -q . && mv .git/hooks scripts && ln -s ../scripts .git/hooks", "scripts/pre-commit", []string{"scripts/pre-commit", ".git/hooks/pre-commit"}},
		"a repository below":       {"git init -q a && git -C a config core.hooksPath scripts", "a/scripts/pre-commit", []string{"a/scripts/pre-commit", ".git/hooks/pre-commit"}},
		"the one of a linked tree": {"git init -q --separate-git-dir store main && cd main && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git worktree add -q ../tree", "store/config", []string{"store/config"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			run(t, dir, c.script)
			if got := gitkeep.EditPatterns(t.Context(), &sdk.ToolCall{Worktree: dir, Directory: dir}, filepath.Join(dir, c.file)); !slices.Equal(got, c.want) {
				t.Errorf("patterns %q, want %q", got, c.want)
			}
		})
	}
}
