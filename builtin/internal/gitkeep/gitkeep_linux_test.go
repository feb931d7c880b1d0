package gitkeep_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
)

// templates has the directories that repository and submodules copy.
var templates string

func TestMain(m *testing.M) {
	var err error
	if templates, err = os.MkdirTemp("", "tenon-gitkeep-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(templates); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// template returns a function that runs a script in a new directory, once, and returns the directory.
func template(text string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp(templates, "")
		if err != nil {
			return "", err
		}
		out, err := script(context.Background(), dir, text)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return dir, err
	})
}

const one = `git init -q --template= . && mkdir .git/hooks && git config user.name someone && git config alias.mine status && echo '#!/bin/sh' > .git/hooks/pre-push &&
	chmod +x .git/hooks/pre-push && git -c user.email=a@b.c commit -q --allow-empty -m first`

var oneTemplate = template(one)

// repository returns a repository with a setting and a hook of the user's.
func repository(t testing.TB) string { return copied(t, oneTemplate) }

func copied(t testing.TB, template func() (string, error)) string {
	t.Helper()
	dir := t.TempDir()
	from, err := template()
	if err := errors.Join(err, os.CopyFS(dir, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// moveTree tells git where a copy of a repository and of its working tree are.
func moveTree(t testing.TB, main, tree string) {
	t.Helper()
	dir := filepath.Join(main, ".git/worktrees", filepath.Base(tree))
	err := errors.Join(os.WriteFile(filepath.Join(dir, "gitdir"), []byte(tree+"/.git\n"), 0o600), os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+dir+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, dir, text string) string {
	t.Helper()
	out, err := script(t.Context(), dir, text)
	if err != nil {
		t.Fatalf("%s: %v: %s", text, err, out)
	}
	return string(out)
}

func script(ctx context.Context, dir, text string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	return cmd.CombinedOutput()
}

// ordinary are settings that are in every repository, or harmless.
var ordinary = regexp.MustCompile(`^core\.(repositoryformatversion|filemode|bare|logallrefupdates)=|^user|^branch|^remote`)

// runnable returns what git would run by itself: settings that are not harmless, and hooks.
func runnable(t testing.TB, dir string) string {
	t.Helper()
	settings, _ := script(t.Context(), dir, "exec git config --local --list") // an error differs from all settings
	lines := slices.DeleteFunc(strings.Split(string(settings), "\n"), ordinary.MatchString)
	hooks, _ := os.ReadDir(filepath.Join(dir, ".git/hooks"))
	for _, hook := range hooks {
		if !strings.HasSuffix(hook.Name(), ".sample") {
			lines = append(lines, hook.Name())
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, ".git/hooks/pre-push"))
	return fmt.Sprintf("%s\n%s %v", strings.Join(lines, "\n"), text, err)
}

func TestPutBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		notes  []string // the beginnings
	}{
		"nothing":                {"git status", nil},
		"from nothing":           {"git -c core.repositoryformatversion=0 config core.pager x", []string{"core.pager in .git/config was put back"}},
		"a commit":               {"git -c user.email=a@b.c commit -q --allow-empty -m next", nil},
		"a branch and a remote":  {"git checkout -q -B other && git config remote.origin.url https://example.com/x && git config branch.other.remote origin", nil},
		"a sparse checkout":      {"git sparse-checkout init --cone --sparse-index && git sparse-checkout disable", nil},
		"a program":              {"git config core.fsmonitor ./evil", []string{"core.fsmonitor in .git/config was put back"}},
		"several":                {"git config core.pager x && git config filter.f.clean y && git config user.email a@b.c", []string{"core.pager, filter.f.clean in .git/config was put back"}},
		"the user's changed":     {"git config alias.mine '!evil'", []string{"alias.mine in .git/config was put back"}},
		"the user's removed":     {"git config --unset alias.mine", []string{"alias.mine in .git/config was put back"}},
		"twice the same key":     {"git config --add alias.mine '!evil'", []string{"alias.mine in .git/config was put back"}},
		"an include":             {"printf '[core]\\n\\tfsmonitor = ./evil\\n' > inc && git config include.path ../inc", []string{"core.fsmonitor in inc was put back", "include.path in .git/config was put back"}},
		"a conditional include":  {"git config includeIf.onbranch:x.path ../inc", []string{"includeif.onbranch:x.path in .git/config was put back"}},
		"written by hand":        {"printf '[core]\\n\\tsshCommand = evil\\n' >> .git/config", []string{"core.sshcommand in .git/config was put back"}},
		"in a subsection":        {"printf '[diff \"a.b\"]\\n\\ttextconv = evil\\n' >> .git/config", []string{"diff.a.b.textconv in .git/config was put back"}},
		"broken":                 {"echo '[[[' > .git/config", []string{".git/config was put back"}},
		"broken elsewhere":       {"for m in bad m; do git init -q --bare .git/modules/$m; done; echo '[[[' > .git/modules/bad/config; git -C .git/modules/m config core.fsmonitor evil", []string{".git/modules/bad/config was put", ".git/modules/m/config was put"}},
		"removed":                {"rm .git/config", []string{"alias.mine in .git/config was put back"}},
		"replaced by a link":     {"cp .git/config other && git config -f other core.pager evil && ln -sf ../other .git/config", []string{"core.pager in .git/config was put back"}},
		"a hook":                 {"echo evil > .git/hooks/pre-commit", []string{".git/hooks/pre-commit was put back"}},
		"a sample":               {"echo evil > .git/hooks/post-merge.sample", nil},
		"a changed hook":         {"echo evil >> .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"another name of a hook": {"echo evil > .git/hooks/pre-commit; ln .git/hooks/pre-commit .git/commondir", []string{".git/commondir was put back", ".git/hooks/pre-commit was put back"}},
		"a full directory":       {"mkdir -p .git/commondir/x", []string{".git/commondir was put back"}},
		"a link to itself":       {"ln -s modules .git/modules", []string{".git/modules could not be listed: "}},
		"a removed hook":         {"rm .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"a hook that is a link":  {"ln -s /bin/sh .git/hooks/pre-commit", []string{".git/hooks/pre-commit was put back"}},
		"another mode":           {"chmod -x .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"another time":           {"echo '#!/bin/zz' > .git/hooks/pre-push && touch -r .git/HEAD .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"hooks become a link":    {"mkdir -p evil && echo evil > evil/pre-commit && rm -r .git/hooks && ln -s ../evil .git/hooks", []string{".git/hooks was put back", ".git/hooks/pre-push was put back"}},
		"worktree configuration": {"git config extensions.worktreeConfig true && git config --worktree core.fsmonitor evil", []string{"core.fsmonitor in .git/config.worktree was put back"}},
		"a directory for a hook": {"rm .git/hooks/pre-push && mkdir .git/hooks/pre-push && echo evil > .git/hooks/pre-push/x", []string{".git/hooks/pre-push was put back"}},
		"another hooks path":     {"mkdir -p h && git config core.hooksPath h", []string{"core.hookspath in .git/config was put back"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			before := runnable(t, dir)
			k := gitkeep.Of(dir)
			for range 2 { // the second time it comes from the state that putting back left
				k.Enter(t.Context())
				run(t, dir, c.script+" || true")
				notes := k.Leave(t.Context(), true)
				slices.Sort(notes)
				if !slices.EqualFunc(notes, c.notes, strings.HasPrefix) {
					t.Errorf("notes %q, want %q", notes, c.notes)
				}
				after := strings.Replace(runnable(t, dir), "extensions.worktreeconfig=true\n", "", 1)
				if after != before {
					t.Errorf("git runs:\n%s\nbefore:\n%s", after, before)
				}
				if _, err := os.Lstat(filepath.Join(dir, ".git/config.lock")); err == nil {
					t.Error("a lock stays")
				}
			}
		})
	}
}

// A repository that a command makes, or makes again, runs nothing of the command's.
func TestNewRepository(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"none before": t.TempDir(), "one before": repository(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := gitkeep.Of(dir)
			k.Enter(t.Context())
			run(t, dir, "rm -rf .git; git init -q . && git config user.name x && git config core.fsmonitor evil && echo evil > .git/hooks/pre-commit")
			notes := strings.Join(k.Leave(t.Context(), true), "\n")
			if !strings.Contains(notes, "core.fsmonitor in .git/config was put back") || !strings.Contains(notes, ".git/hooks/pre-commit was put back") {
				t.Errorf("notes %q", notes)
			}
			if left := run(t, dir, "git config core.fsmonitor || true; ls .git/hooks/pre-commit 2>/dev/null || true; git config user.name"); left != "x\n" {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// A link .git leads to a repository, whoever made the link. Later commands change nothing there either.
func TestLinkToRepository(t *testing.T) {
	t.Parallel()
	evil := "git config core.fsmonitor evil; echo evil > .git/hooks/pre-commit"
	for name, scripts := range map[string][]string{
		"the user's":          {evil},
		"in the project":      {"mv .git old; git init -q new; ln -s new/.git .git; " + evil, evil},
		"outside":             {"mv .git old; git init -q $OUT; ln -s $OUT/.git .git; " + evil},
		"through a link":      {"mv .git old; git init -q a; git init -q b; ln -s a/.git l; ln -s l .git", "cd b; " + evil + "; cd ..; rm l; ln -s b/.git l"},
		"made in two steps":   {"mv .git old; ln -s new/.git .git", "git init -q new; cd new; " + evil},
		"a linked tree":       {"mv .git old; git init -q a; git -C a -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x; git -C a worktree add -q ../b; ln -s a/.git/worktrees/b .git; git -C a config core.fsmonitor evil"},
		"a link to a gitfile": {"mv .git old; git init -q a; echo 'gitdir: a/.git' > f; ln -s f .git; git config core.fsmonitor evil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			if name == "the user's" {
				run(t, dir, "mv .git real && ln -s real .git")
			}
			k := gitkeep.Of(dir)
			for i, script := range scripts {
				k.Enter(t.Context())
				run(t, dir, "OUT="+t.TempDir()+"; "+script)
				notes := k.Leave(t.Context(), true)
				if left := run(t, dir, "git config core.fsmonitor || true; ls .git/hooks/pre-commit 2>/dev/null || true"); left != "" {
					t.Errorf("after command %d: %q; notes %q", i, left, notes)
				}
			}
		})
	}
}

var foreignTemplate = template("mkdir project && cd project && " + one + " && git worktree add -q ../tree && git init -q --bare ../out && git -C ../out config alias.x '!x' && echo mine > ../out/hooks/pre-commit")

// A command that makes another repository of the user, or any directory, the project's does not make tenon change files there.
func TestForeignRepository(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a link":                 "mv .git old && ln -s $OUT .git",
		"a file":                 "mv .git old && echo gitdir: $OUT > .git",
		"a file, through a link": "mv .git old && ln -s $OUT l && echo gitdir: l > .git",
		"its common directory":   "mv .git old && mkdir new && echo gitdir: new > .git && echo $OUT > new/commondir",
		"a name with a space":    "mv .git old && cp -r $OUT 'new ' && printf 'gitdir: new \\n' > .git",
		"up from a link":         "mv .git old && mkdir -p e/deep && cp -r $OUT e/new && ln -s e/deep l && echo gitdir: l/../new > .git",
		"a name before a NUL":    "mv .git old && cp -r $OUT new && printf 'gitdir: new\\000er\\n' > .git",
		"a linked tree's detour": "cp -r $OUT e && mkdir -p e/a/b/c && ln -s $PWD/e/a/b/c .git/worktrees/tree/l && echo l/../../.. > .git/worktrees/tree/commondir",
		"common, and locked":     "echo $OUT > .git/commondir && touch .git/commondir.lock",
		"a linked tree's":        "echo gitdir: $OUT > ../tree/.git",
		"a linked tree's own":    "mv .git/worktrees/tree .git/tree && ln -s $OUT .git/worktrees/tree",
		"a linked tree's in it":  "cp -r $OUT ../tree/evil && mv .git/worktrees .git/w && mkdir ../tree/w && ln -s ../evil ../tree/w/tree && ln -s ../../tree/w .git/worktrees",
		"a submodule's":          "mkdir .git/modules && ln -s $OUT .git/modules/m",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := copied(t, foreignTemplate)
			project := filepath.Join(top, "project")
			moveTree(t, project, filepath.Join(top, "tree"))
			if strings.HasPrefix(name, "a linked tree") {
				project = filepath.Join(top, "tree")
			}
			k := gitkeep.Of(project)
			k.Enter(t.Context())
			run(t, filepath.Join(top, "project"), "OUT="+top+"/out; "+script)
			notes := k.Leave(t.Context(), true)
			if got := run(t, top, "git -C out config alias.x; cat out/hooks/pre-commit"); len(notes) == 0 || got != "!x\nmine\n" {
				t.Errorf("notes %q, left %q", notes, got)
			}
			if got := run(t, project, "git config alias.x 2>/dev/null || true"); got != "" && name != "common, and locked" { // the lock stays until the end of the turn
				t.Errorf("git uses it: %q", got)
			}
		})
	}
}

// A linked working tree has its settings and hooks in the main repository, and a file that names it.
func TestLinked(t *testing.T) {
	t.Parallel()
	main := repository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	run(t, main, "git worktree add -q "+linked)
	k := gitkeep.Of(linked)
	k.Enter(t.Context())
	run(t, linked, "git config core.fsmonitor evil && echo evil > "+main+"/.git/hooks/pre-commit && mkdir other && git init -q other && echo 'gitdir: other/.git' > .git")
	notes := strings.Join(k.Leave(t.Context(), true), "\n")
	for _, want := range []string{".git was put back", "core.fsmonitor", "pre-commit was put back"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q in it", notes, want)
		}
	}
	if left := run(t, linked, "git config core.fsmonitor || true; ls "+main+"/.git/hooks/pre-commit 2>/dev/null || true"); left != "" {
		t.Errorf("left: %q; notes %q", left, notes)
	}
}

// Changes of another process after the command ended, or while none runs, stay; they are named.
func TestOthers(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	if notes := k.Leave(t.Context(), true); notes != nil {
		t.Errorf("notes %q", notes)
	}
	run(t, dir, "git config core.editor vi")
	if notes := k.EndTurn(t.Context()); !slices.Equal(notes, []string{"core.editor in .git/config was changed by another process, and left alone"}) {
		t.Errorf("notes %q", notes)
	}
	if notes := k.EndTurn(t.Context()); notes != nil {
		t.Errorf("again: %q", notes)
	}
	run(t, dir, "git config core.editor nano") // before the next command: the user's
	k.Enter(t.Context())
	run(t, dir, "git config core.editor evil; touch .git/config.lock")
	if notes := k.Leave(t.Context(), true); len(notes) != 1 || !strings.Contains(notes[0], "another process is changing it") {
		t.Errorf("under a lock: %q", notes)
	}
}

// nextTick returns when files that change get a later time than the one now.
func nextTick(t *testing.T) {
	t.Helper()
	probe, begin := filepath.Join(t.TempDir(), "probe"), time.Now()
	for {
		if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(probe); err != nil {
			t.Fatal(err)
		} else if info.ModTime().After(begin) {
			return
		}
	}
}

// Files that could not be restored because a command left a lock behind are restored at the end of the turn, and the lock is removed;
// a lock that another process took later is not.
func TestLeftLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after string // by another process, before the end of the turn
		notes []string
		left  string
	}{
		"of the command":     {"true", []string{".git/config.lock was removed", "core.fsmonitor in .git/config was put back"}, ""},
		"another name of it": {"true", []string{".git/config.lock was removed", "core.fsmonitor in .git/config was put back"}, ""},
		"of another process": {"rm .git/config.lock && touch .git/config.lock", []string{"core.fsmonitor in .git/config was changed and could not be put back: another process is changing it"}, "evil\n"},
		"released":           {"rm .git/config.lock", []string{"core.fsmonitor in .git/config was put back"}, ""},
		"changed since":      {"rm .git/config.lock && git config core.editor vi", []string{"core.editor, core.fsmonitor in .git/config was changed by another process, and left alone"}, "evil\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			k := gitkeep.Of(dir)
			k.Enter(t.Context())
			lock := "touch .git/config.lock"
			if name == "another name of it" {
				lock = "ln .git/config .git/config.lock"
			}
			run(t, dir, "git config core.fsmonitor evil && "+lock)
			if notes := k.Leave(t.Context(), true); len(notes) != 1 || !strings.Contains(notes[0], "could not be put back") {
				t.Fatalf("notes %q", notes)
			}
			k.Enter(t.Context()) // a command that changes nothing does not make it the user's
			if notes := k.Leave(t.Context(), true); len(notes) != 1 || !strings.Contains(notes[0], "could not be put back") {
				t.Fatalf("after another command: %q", notes)
			}
			nextTick(t)
			run(t, dir, c.after)
			if notes := k.EndTurn(t.Context()); !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
			if left := run(t, dir, "git config core.fsmonitor || true"); left != c.left {
				t.Errorf("core.fsmonitor = %q, want %q", left, c.left)
			}
		})
	}
}

// Changes of a process that could not be ended with its command are reverted at the end of the turn; later changes are not.
func TestSurvivor(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	k := gitkeep.Of(dir)
	survivor := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read line; git config core.fsmonitor evil; echo evil > .git/hooks/pre-commit")
	survivor.Dir = dir
	in, err := survivor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.Enter(t.Context())
	if err := survivor.Start(); err != nil {
		t.Fatal(err)
	}
	if notes := k.Leave(t.Context(), false); notes != nil {
		t.Errorf("after the command: %q", notes)
	}
	k.Enter(t.Context())
	if notes := k.Leave(t.Context(), true); notes != nil {
		t.Errorf("after the next command: %q", notes)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := survivor.Wait(); err != nil {
		t.Fatal(err)
	}
	want := []string{"core.fsmonitor in .git/config was put back", ".git/hooks/pre-commit was put back"}
	if notes := k.EndTurn(t.Context()); !slices.Equal(notes, want) {
		t.Errorf("at the end of the turn: %q, want %q", notes, want)
	}
	if left := run(t, dir, "git config core.fsmonitor || true; ls .git/hooks/pre-commit 2>/dev/null || true"); left != "" {
		t.Errorf("left: %q", left)
	}
	run(t, dir, "git config core.editor vi")
	if notes := k.EndTurn(t.Context()); len(notes) != 1 || !strings.Contains(notes[0], "left alone") {
		t.Errorf("after the turn: %q", notes)
	}
}

// Commands that overlap are compared once, when the last one ends.
func TestOverlap(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	k.Enter(t.Context())
	run(t, dir, "git config core.fsmonitor evil")
	if notes := k.Leave(t.Context(), true); notes != nil {
		t.Errorf("the first: %q", notes)
	}
	if notes := k.Leave(t.Context(), true); len(notes) != 1 {
		t.Errorf("the last: %q", notes)
	}
}

// All users of a project have the same keeper: what one command changed is not the state before another that began meanwhile.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	shell, hook := gitkeep.Of(dir), gitkeep.Of(dir+"/")
	shell.Enter(t.Context())
	run(t, dir, "git config core.fsmonitor evil")
	hook.Enter(t.Context())
	notes := append(shell.Leave(t.Context(), true), hook.Leave(t.Context(), true)...)
	if !slices.Equal(notes, []string{"core.fsmonitor in .git/config was put back"}) {
		t.Errorf("notes %q", notes)
	}
	if left := run(t, dir, "git config core.fsmonitor || true"); left != "" {
		t.Errorf("left: %q", left)
	}
}

// A command that has ended before it began, by its timeout, costs the user no settings.
func TestEnded(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	before := runnable(t, dir)
	k := gitkeep.Of(dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Enter(ctx)
	run(t, dir, "git config core.fsmonitor evil")
	k.Leave(t.Context(), true)
	if after := runnable(t, dir); after != before {
		t.Errorf("git runs:\n%s\nbefore:\n%s", after, before)
	}
}

// BenchmarkUnchanged is what a command costs that leaves git alone.
func BenchmarkUnchanged(b *testing.B) {
	k := gitkeep.Of(repository(b))
	for b.Loop() {
		k.Enter(b.Context())
		k.Leave(b.Context(), true)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("local\x00file:.git/config\x00core.bare\nfalse\x00"))
	f.Add([]byte("local\x00file:a\x00alias.x\x00global\x00command line:\x00b.c\nd"))
	f.Fuzz(func(t *testing.T, out []byte) {
		if n := gitkeep.Entries(out); n > len(out) {
			t.Errorf("%d entries of %d bytes", n, len(out))
		}
	})
}

// Settings in a file of the project that a link in place of .git/config leads to are put back.
func TestLinkedConfig(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "mv .git/config shared && ln -s ../shared .git/config")
	wantNotes(t, dir, "git config -f shared user.email x", nil)
	wantNotes(t, dir, "git config -f shared core.fsmonitor evil", []string{"core.fsmonitor in .git/config was put back"})
	if left := run(t, dir, "git config core.fsmonitor || true; git config alias.mine"); left != "status\n" {
		t.Errorf("left: %q", left)
	}
}

// A directory .git in place of a file .git is not lost.
func TestRepositoryForPointer(t *testing.T) {
	t.Parallel()
	main := repository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	run(t, main, "git worktree add -q "+linked)
	wantNotes(t, linked, "rm .git && git init -q && git config core.fsmonitor evil", []string{".git was put back"})
	if left := run(t, linked, "git config core.fsmonitor || true; cat .git.changed-*/config | grep -c evil"); left != "1\n" {
		t.Errorf("left: %q", left)
	}
}

// If git could not read the settings before a command, those of the user stay, and files that the command changed are put back as a whole.
func TestUnreadableBefore(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "git config include.path ../inc && echo '[[[' > inc")
	wantNotes(t, dir, "rm inc", nil)
	if left := run(t, dir, "git config alias.mine"); left != "status\n" {
		t.Errorf("alias.mine = %q", left)
	}
	run(t, dir, "echo '[[[' > inc")
	wantNotes(t, dir, "rm inc && git config core.fsmonitor evil", []string{".git/config was put back"})
	if left := run(t, dir, "git config core.fsmonitor || true; git config alias.mine"); left != "status\n" {
		t.Errorf("left: %q", left)
	}
	run(t, dir, "git config include.path own && echo '[alias]' > .git/own && echo '[[[' >> .git/config")
	wantNotes(t, dir, "sed -i '$d' .git/config", []string{".git/config was put back"})
	run(t, dir, "test -e .git/own") // it is the user's, though tenon could not know it before
}

// A git that hangs ends with its context, with the programs that it started, even if they keep its output open.
func TestGitThatHangs(t *testing.T) {
	dir := t.TempDir()
	wrapper := filepath.Join(dir, "git")
	err := errors.Join(syscall.Mkfifo(wrapper+".pipe", 0o600), os.WriteFile(wrapper, []byte("#!/bin/sh\nsh -c 'exec 3>\"$0.pipe\"; sleep 60' \"$0\"\nexit\n"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { // ends with git
		_, err := gitkeep.Git(ctx, "/nowhere", dir, os.Environ(), "--version")
		done <- err
	}()
	pipe, err := os.Open(wrapper + ".pipe") // waits for the wrapper; has an end when the programs have ended
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	err = pipe.SetReadDeadline(time.Now().Add(20 * time.Second)) // also for git itself
	cancel()
	if gitErr := <-done; gitErr == nil {
		t.Error("no error")
	}
	if _, readErr := pipe.Read(make([]byte, 1)); err != nil || !errors.Is(readErr, io.EOF) {
		t.Errorf("%v, %v, want that the programs of git have ended", err, readErr)
	}
}

// A command that creates so many submodules that their names are too long for the arguments of one command hides no settings.
func TestManySubmodules(t *testing.T) { // not parallel: all programs have less space for arguments
	var stack syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &stack); err != nil {
		t.Fatal(err)
	}
	const least = 512 << 10 // arguments may have a quarter of it
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &syscall.Rlimit{Cur: least, Max: stack.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &stack); err != nil {
			t.Error(err)
		}
	}()
	dir := repository(t)
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	long := strings.Repeat("x", 200) + "/"
	for i := range 300 {
		module := filepath.Join(dir, ".git/modules", long+strconv.Itoa(i))
		if err := errors.Join(os.MkdirAll(module, 0o755), os.WriteFile(module+"/HEAD", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/modules", long+"7/config"), []byte("[core]\nfsmonitor = evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(k.Leave(t.Context(), true), "\n")
	if !strings.HasPrefix(notes, "core.fsmonitor in .git/modules/xx") || strings.Contains(notes, "\n") {
		t.Errorf("notes %.2000s", notes)
	}
}
