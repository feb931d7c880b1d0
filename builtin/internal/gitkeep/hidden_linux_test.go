package gitkeep_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
)

// Changes in directories that a command made unreadable are found and undone, and the directories get their modes back.
func TestHidden(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 { // root reads all directories
		asUser(t)
		return
	}
	const (
		hook      = "echo evil > .git/hooks/pre-commit"
		submodule = "git init -q --bare .git/modules/m && git -C .git/modules/m config core.fsmonitor evil && echo evil > .git/modules/m/hooks/pre-commit"
		nested    = "git init -q --bare .git/modules/m/modules/n/o && echo evil > .git/modules/m/modules/n/o/hooks/pre-commit"
		linked    = "git worktree add -q ../tree"
		evil      = "git init -q evil && git -C evil config alias.x '!evil' && "
	)
	for name, c := range map[string]struct {
		before, script string
		notes          []string
	}{
		"a hook":                   {"true", hook + " && chmod 311 .git/hooks", []string{".git/hooks/pre-commit was put back", "access to .git/hooks was put back"}},
		"a directory of hooks":     {"true", "mkdir -p .git/hooks/samples && echo evil > .git/hooks/samples/pre-commit && chmod 0 .git/hooks/samples .git/hooks", []string{".git/hooks/samples/pre-commit was put back", "access to .git/hooks was put back", "access to .git/hooks/samples was put back"}},
		"a repository":             {"true", hook + " && chmod 500 .git/hooks && chmod 0 .git", []string{".git/hooks/pre-commit was put back", "access to .git was put back", "access to .git/hooks was put back"}},
		"a private repository":     {"chmod 700 .git", hook + " && chmod 0 .git", []string{".git/hooks/pre-commit was put back", "access to .git was put back"}},
		"a shared repository":      {"chmod 2775 .git", hook + " && chmod 0 .git", []string{".git/hooks/pre-commit was put back", "access to .git was put back"}},
		"the project's entries":    {"true", hook + " && chmod 311 .", []string{".git/hooks/pre-commit was put back", "access to . was put back"}},
		"the project":              {"true", hook + " && chmod 0 .", []string{".git/hooks/pre-commit was put back", "access to . was put back"}},
		"submodules":               {"true", submodule + " && chmod 311 .git/modules", []string{".git/modules/m/hooks/pre-commit was put back", "access to .git/modules was put back", "core.fsmonitor in .git/modules/m/config was put back"}},
		"a submodule":              {"true", submodule + " && chmod 0 .git/modules/m", []string{".git/modules/m/hooks/pre-commit was put back", "access to .git/modules/m was put back", "core.fsmonitor in .git/modules/m/config was put back"}},
		"in a submodule":           {"git init -q --bare .git/modules/m", nested + " && chmod 0 .git/modules/m/modules/n/o .git/modules/m/modules/n .git/modules/m", []string{".git/modules/m/modules/n/o/hooks/pre-commit was put back", "access to .git/modules/m was put back", "access to .git/modules/m/modules/n was put back", "access to .git/modules/m/modules/n/o was put back"}},
		"another working tree":     {"git worktree add -q ../w", evil + "echo $PWD/evil/.git > .git/worktrees/w/commondir && chmod 0 .git/worktrees/w", []string{".git/worktrees/w/commondir was put back", "access to .git/worktrees/w was put back"}},
		"a hooks path":             {"mkdir -p a/b && git config core.hooksPath a/b", "echo evil > a/b/pre-commit && chmod 311 a/b a", []string{"a/b/pre-commit was put back", "access to a was put back", "access to a/b was put back"}},
		"a linked hook":            {"mkdir -p a/b && echo mine > a/b/c && ln -s ../../a/b/c .git/hooks/pre-merge-commit", "echo evil > a/b/c && chmod 311 a/b a", []string{"a/b/c was put back", "access to a was put back", "access to a/b was put back"}},
		"an included file":         {"mkdir a && git config -f a/inc user.name x && git config include.path ../a/inc", "git config -f a/inc core.fsmonitor evil && chmod 311 a", []string{"access to a was put back", "core.fsmonitor in a/inc was put back"}},
		"the user's":               {"rm .git/hooks/* && chmod 500 .git/hooks", "git config core.pager evil", []string{"core.pager in .git/config was put back"}},
		"in the user's":            {"rm .git/hooks/* && chmod 555 .git/hooks", "chmod 755 .git/hooks && " + hook + " && chmod 555 .git/hooks", []string{".git/hooks/pre-commit was put back"}},
		"a linked tree's own":      {linked, "cd ../tree && git init -q --bare ../project/.git/modules/m && echo evil > ../project/.git/modules/m/hooks/pre-commit && chmod 0 ../project/.git/worktrees/tree", []string{"../project/.git/modules/m/hooks/pre-commit was put back", "access to ../project/.git/worktrees/tree was put back"}},
		"a linked tree's entries":  {linked, "cd ../tree && echo evil > ../project/.git/hooks/pre-commit && chmod 311 ../project/.git", []string{"../project/.git/hooks/pre-commit was put back", "access to ../project/.git was put back"}},
		"a linked tree's common":   {linked, "cd ../tree && echo evil > ../project/.git/hooks/pre-commit && chmod 0 ../project/.git", []string{"../project/.git/hooks/pre-commit was put back", "access to ../project/.git was put back"}},
		"another of a linked tree": {linked, "cd ../tree && git init -q evil && git worktree add -q ../w && echo $PWD/evil/.git > ../project/.git/worktrees/w/commondir && chmod 0 ../project/.git/worktrees/w ../project/.git/worktrees/tree", []string{"../project/.git/worktrees/w/commondir was put back", "access to ../project/.git/worktrees/tree was put back", "access to ../project/.git/worktrees/w was put back"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			project := filepath.Join(top, "project")
			run(t, top, "mv "+repository(t)+" project && cd project && "+c.before)
			if c.before == linked {
				project = filepath.Join(top, "tree")
			}
			modes := func() []string {
				return strings.Split(run(t, top, "find . -name objects -prune -o -type d -printf '%m %p\\n'"), "\n")
			}
			before := modes()
			k := gitkeep.Of(project)
			k.Enter(t.Context())
			run(t, filepath.Join(top, "project"), c.script)
			notes := k.Leave(t.Context(), true)
			for i := range notes {
				notes[i] = strings.Replace(notes[i], top, "..", 1)
			}
			if slices.Sort(notes); !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
			if left := run(t, top, "grep -rl evil --exclude-dir evil . || true"); left != "" {
				t.Errorf("left: %s", left)
			}
			after := modes()
			for _, dir := range before {
				if !slices.Contains(after, dir) {
					t.Errorf("%s has another mode now: %q", dir, after)
				}
			}
		})
	}
}

// Any number of directories, each hidden in another, does not keep a hook in place.
func TestHiddenDeep(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		asUser(t)
		return
	}
	dir := repository(t)
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, "echo evil > .git/hooks/pre-commit; p=.git/hooks/d; for i in $(seq 60); do p=$p/d; done; mkdir -p $p && while [ $p != .git/hooks ]; do chmod 0 $p; p=${p%/d}; done")
	k.Leave(t.Context(), true)
	if left := run(t, dir, "ls .git/hooks | grep pre-commit$ || true"); left != "" {
		t.Errorf("left: %s", left)
	}
	k.EndTurn(t.Context())
	if left := run(t, dir, "find .git/hooks -type d ! -perm 700 ! -perm 755"); left != "" {
		t.Errorf("closed: %s", left)
	}
}

// asUser runs a test as a user without privileges.
func asUser(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gitkeep") // other users do not reach t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	user := &syscall.Credential{Uid: 65534, Gid: 65534}
	if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(dir, "host")
	// By another process: a file that this one writes could not be run while a process it starts meanwhile has it open. Unlike cp, install does
	// not let the umask decide whether the other user may run it.
	if out, err := exec.CommandContext(t.Context(), "install", os.Args[0], host).CombinedOutput(); err != nil {
		t.Fatalf("copy the test binary: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), host, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%s, %v", out, err)
	}
}
