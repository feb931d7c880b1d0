package gitkeep_test

import (
	"bytes"
	"crypto/sha1"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
)

var submodulesTemplate = template("mkdir library && (cd library && " + one + ") && mkdir project && cd project && " + one + ` && for name in sub deep/er; do git -c protocol.file.allow=always submodule --quiet add $PWD/../library $name; done
	git -C deep/er config alias.mine status && echo mine > .git/modules/deep/er/hooks/pre-push && chmod +x .git/modules/deep/er/hooks/pre-push
	git -c user.email=a@b.c commit -q -m submodules && git worktree add -q ../other`)

// submodules returns a repository with the submodules sub and deep/er, the latter with a setting and a hook of the user, and with a second
// working tree.
func submodules(t *testing.T) string {
	t.Helper()
	top := copied(t, submodulesTemplate)
	dir := filepath.Join(top, "project")
	moveTree(t, dir, filepath.Join(top, "other"))
	return dir
}

// Settings and hooks of submodules and of other working trees are put back, and so is a file that names another repository for them.
func TestNested(t *testing.T) {
	t.Parallel()
	evil := "git init -q evil && git -C evil config alias.x '!evil' && "
	copied := "cp -r .git/modules/sub e.git && git config -f e.git/config core.worktree ../sub && git config -f e.git/config core.fsmonitor evil && "
	for name, c := range map[string]struct {
		script string
		notes  []string
		check  string // what git says afterwards
		want   string
	}{
		"a setting":                {"git -C sub config core.fsmonitor ./evil", []string{"core.fsmonitor in .git/modules/sub/config was put back"}, "git -C sub config core.fsmonitor", ""},
		"the user's setting":       {"git -C deep/er config alias.mine '!evil'", []string{"alias.mine in .git/modules/deep/er/config was put back"}, "git -C deep/er config alias.mine", "status\n"},
		"a hook":                   {"echo evil > .git/modules/sub/hooks/pre-commit", []string{".git/modules/sub/hooks/pre-commit was put back"}, "ls .git/modules/sub/hooks/pre-commit 2>/dev/null", ""},
		"the user's hook":          {"echo evil > .git/modules/deep/er/hooks/pre-push", []string{".git/modules/deep/er/hooks/pre-push was put back"}, "cat .git/modules/deep/er/hooks/pre-push", "mine\n"},
		"its configuration broken": {"echo '[[[' > .git/modules/sub/config", []string{".git/modules/sub/config was put back"}, "git -C sub config core.bare", "false\n"},
		"another working tree":     {"git -C sub config core.worktree ../../../../elsewhere", []string{"core.worktree in .git/modules/sub/config was put back"}, "git -C sub config core.worktree", "../../../sub\n"},
		"up from a link":           {"ln -s / .git/modules/sub/l && git -C sub config core.worktree l/../../../sub", []string{"core.worktree in .git/modules/sub/config was put back"}, "git -C sub config core.worktree", "../../../sub\n"},
		"a moved repository":       {"mv .git/modules/sub .git/moved && ln -s ../moved .git/modules/sub && git config -f .git/moved/config core.fsmonitor evil", []string{"core.fsmonitor, core.worktree in .git/modules/sub/config was put back"}, "git config -f .git/moved/config core.fsmonitor", ""},
		"an absolute link":         {"mv .git/modules/sub .git/moved && ln -s $PWD/.git/moved .git/modules/sub && git config -f .git/moved/config core.fsmonitor evil", []string{"core.fsmonitor, core.worktree in .git/modules/sub/config was put back"}, "git config -f .git/moved/config core.fsmonitor", ""},
		"a new submodule": {"git -c protocol.file.allow=always submodule --quiet add $PWD/.git new 2>/dev/null; git -C new config core.pager evil; git -C new config user.name x",
			[]string{"core.pager in .git/modules/new/config was put back"}, "git -C new config core.pager; git -C new rev-parse --show-prefix; git -C new config user.name", "\nx\n"},
		"its file .git":           {copied + "echo gitdir: ../e.git > sub/.git", []string{"sub/.git was put back"}, "git -C sub config core.fsmonitor", ""},
		"a repository for it":     {"rm sub/.git && git init -q sub && git -C sub config core.fsmonitor evil", []string{"sub/.git was put back"}, "git -C sub config core.fsmonitor", ""},
		"through a link":          {"ln -s .git/modules/sub l && echo gitdir: ../l > sub/.git", []string{"sub/.git was put back"}, "cat sub/.git", "gitdir: ../.git/modules/sub\n"},
		"a moved submodule":       {"git mv sub moved", nil, "git -C moved config user.name x && git -C moved rev-parse --show-prefix", "\n"},
		"a working tree within":   {"git worktree add -q within", nil, "git -C within rev-parse --show-prefix", "\n"},
		"a submodule removed":     {"git rm -qf sub && rm -r .git/modules/sub", nil, "true", ""},
		"another repository":      {evil + "echo ../evil/.git > .git/commondir", []string{".git/commondir was put back"}, "git config alias.x", ""},
		"that of a submodule":     {evil + "echo $PWD/evil/.git > .git/modules/sub/commondir", []string{".git/modules/sub/commondir was put back"}, "git -C sub config alias.x", ""},
		"that of a working tree":  {evil + "echo $PWD/evil/.git > .git/worktrees/other/commondir", []string{".git/worktrees/other/commondir was put back"}, "cat .git/worktrees/other/commondir", "../..\n"},
		"a link to another":       {evil + "echo ../evil/.git > x && ln -s ../x .git/commondir", []string{".git/commondir was put back"}, "git config alias.x", ""},
		"its own configuration":   {"git config extensions.worktreeConfig true && git config -f .git/worktrees/other/config.worktree core.fsmonitor evil", []string{"core.fsmonitor in .git/worktrees/other/config.worktree was put back"}, "git config -f .git/worktrees/other/config.worktree core.fsmonitor", ""},
		"a new working tree":      {"git worktree add -q ../new$$", nil, "git worktree list | wc -l", "3\n"},
		"a working tree removed":  {"git worktree remove -f other", nil, "git worktree list | wc -l", "1\n"},
		"everyday commands":       {"git submodule --quiet update --init --recursive; git -C sub checkout -q -B topic; git submodule status; git -C sub fetch -q", nil, "git -C sub rev-parse --abbrev-ref HEAD", "topic\n"},
		"a submodule deactivated": {"git submodule --quiet deinit -f sub && git -c protocol.file.allow=always submodule --quiet update --init sub", nil, "ls sub/.git", "sub/.git\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := submodules(t)
			wantNotes(t, dir, c.script, c.notes)
			if got := run(t, dir, c.check+" || true"); got != c.want {
				t.Errorf("%s: %q, want %q", c.check, got, c.want)
			}
		})
	}
}

// A file .git that a command gives a submodule, whose own another command removed, leads to no repository of the command's.
func TestRemovedPointer(t *testing.T) {
	t.Parallel()
	dir := submodules(t)
	wantNotes(t, dir, "rm sub/.git", nil)
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, "git init -q evil && git -C evil config core.fsmonitor evil && echo gitdir: ../evil/.git > sub/.git")
	if notes := k.Leave(t.Context(), true); len(notes) != 1 || !strings.HasPrefix(notes[0], "sub/.git was put aside as ") {
		t.Errorf("notes %q", notes)
	}
	if left := run(t, dir, "ls sub/.git 2>/dev/null || true"); left != "" {
		t.Errorf("left: %q", left)
	}
}

// A repository that a command adds to an index is named once: git status uses its settings. Earlier ones and submodules are not.
func TestListed(t *testing.T) {
	t.Parallel()
	named := []string{"new is new in git's index"}
	const sparse = `mkdir d e && touch d/f e/f && git add d e && git -c user.name=a -c user.email=b commit -q -m x &&
		git update-index --add --cacheinfo 160000,$(git -C library rev-parse HEAD),d/new && git -c user.name=a -c user.email=b commit -q -m y &&
		git rev-parse HEAD > next && git reset -q --hard HEAD~1 && git sparse-checkout set --cone --sparse-index e`
	for name, c := range map[string]struct {
		before, script string
		want           []string
	}{
		"created":        {"true", "cp -r library new && git add new", named},
		"a split index":  {"git update-index --split-index", "cp -r library new && git add new", named},
		"a sparse index": {sparse, "git reset -q --hard $(cat next) && mkdir -p d && cp -r library d/new", []string{"d/new is new in git's index"}},
		"version 4":      {"git update-index --index-version 4", "cp -r library new && git add new", named},
		"created for it": {"git update-index --add --cacheinfo 160000,$(git -C library rev-parse HEAD),new", "git init -q new", named},
		"a file .git":    {"true", "git clone -q --separate-git-dir x library new && git add new", named},
		"in .git":        {"true", "git init -q --separate-git-dir .git/evil new && git -C new -c user.name=a -c user.email=b commit -q --allow-empty -m x && git add new", named},
		"linked":         {"git clone -q --bare library evil.git", "git -C evil.git worktree add -q ../new && git add new", named},
		"created before": {"cp -r library new", "git add new", named},
		"not listed":     {"true", "cp -r library new", nil},
		"a submodule":    {"true", "git -c protocol.file.allow=always submodule --quiet add $PWD/library new", nil},
		"the user's":     {"cp -r library new && git add new", "git -C new config user.name x", nil},
		"unchanged":      {"mkdir -p 1/2/3/4 && cp -r library 1/2/3/4/new && git add 1", "touch 1/2/3/4/new/file", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, "cp -r "+repository(t)+" library; "+c.before+" 2>&1")
			wantNotes(t, dir, "("+c.script+") 2>&1", nil)
			k := gitkeep.Of(dir)
			notes := k.EndTurn(t.Context())
			for i := range notes {
				notes[i], _, _ = strings.Cut(notes[i], ",")
			}
			if !slices.Equal(notes, c.want) {
				t.Errorf("notes %q, want %q", notes, c.want)
			}
			if notes := k.EndTurn(t.Context()); notes != nil {
				t.Errorf("again: %q", notes)
			}
		})
	}
}

// A repository in the shared part of a split index is named even if a command adds that part later.
func TestListedLater(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	wantNotes(t, dir, "(git init -q new && git -C new -c user.name=a -c user.email=b commit -q --allow-empty -m x && git add new && git update-index --split-index) 2>&1; mv .git/sharedindex.* .", nil)
	k := gitkeep.Of(dir)
	if notes := k.EndTurn(t.Context()); notes != nil {
		t.Errorf("without the shared part: %q", notes)
	}
	run(t, dir, "mv sharedindex.* .git")
	if notes := k.EndTurn(t.Context()); len(notes) != 1 || !strings.HasPrefix(notes[0], "new is new in git's index") {
		t.Errorf("notes %q", notes)
	}
}

// git takes any mode of the format 016 for a repository, so an index that a command wrote itself may contain another one.
func TestListedMode(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	wantNotes(t, dir, "(cp -r "+repository(t)+" new && git add new) 2>&1", nil)
	path := filepath.Join(dir, ".git/index")
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	index = bytes.Replace(index[:len(index)-sha1.Size], []byte("\x00\x00\xe0\x00"), []byte("\x00\x00\xe0\x01"), 1)
	sum := sha1.Sum(index)
	if err := os.WriteFile(path, append(index, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if notes := gitkeep.Of(dir).EndTurn(t.Context()); len(notes) != 1 || !strings.HasPrefix(notes[0], "new is new in git's index") {
		t.Errorf("notes %q", notes)
	}
}

// wantNotes runs a command's script in a directory and compares what its keeper says.
func wantNotes(t *testing.T, dir, script string, want []string) {
	t.Helper()
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, script)
	notes := k.Leave(t.Context(), true)
	if slices.Sort(notes); !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// Settings and hooks of repositories below the project are put back, whether or not the project is a repository itself.
func TestBelow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, script string
		notes          []string
	}{
		"a setting":       {"true", "git -C a/in config core.fsmonitor ./evil", []string{"core.fsmonitor in a/in/.git/config was put back"}},
		"a hook":          {"true", "echo evil > a/in/.git/hooks/pre-commit", []string{"a/in/.git/hooks/pre-commit was put back"}},
		"its hooks path":  {"mkdir a/in/h && git -C a/in config core.hooksPath h", "echo evil > a/in/h/pre-commit", []string{"a/in/h/pre-commit was put back"}},
		"beside a broken": {"git init -q broken && echo '[' > broken/.git/config && git init -q", "git config core.pager x", []string{"core.pager in .git/config was put back"}},
		"included twice":  {"git config -f a/x alias.x status && for i in 1 2; do git -C a/in config --add include.path ../../x; done", "git config -f a/x alias.x '!evil'", []string{"alias.x in a/x was put back"}},
		"in a repository": {"git init -q", "git config core.pager x && git -C a/in config core.pager y", []string{"core.pager in .git/config was put back", "core.pager in a/in/.git/config was put back"}},
		"its tree":        {"true", "mkdir evil && git -C a/in config core.worktree ../../../evil", []string{"core.worktree in a/in/.git/config was put back"}},
		"it breaks":       {"git init -q", "echo '[' > a/in/.git/config && git config core.pager x", []string{"a/in/.git/config was put back", "core.pager in .git/config was put back"}},
		"many files":      {"mkdir 0 && touch $(seq -f 0/%g 2500)", "git -C a/in config core.pager x", []string{"core.pager in a/in/.git/config was put back"}},
		"a new one":       {"true", "git clone -q a/in new && git -C new config core.pager x", nil},
		"named worktrees": {"cp -a a/in worktrees", "cp -r worktrees/.git/* . && git config -f config core.fsmonitor ./evil && echo ../.. > worktrees/.git/commondir", []string{"worktrees/.git/commondir was put back"}},
		"a removed one":   {"true", "rm -r a/in", nil},
		"everyday":        {"true", "git -C a/in config user.name x && git -C a/in -c user.email=a@b commit -q --allow-empty -m x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, dir, "mkdir a && cp -a "+repository(t)+" a/in && "+c.before)
			wantNotes(t, dir, c.script, c.notes)
			wantNotes(t, dir, "true", nil)
		})
	}
}

// Links to hooks, and the hooks in a directory of the project that .git/hooks links to, are put back.
func TestLinkedHooks(t *testing.T) {
	t.Parallel()
	const hooks = "readlink .git/hooks .git/hooks/pre-push; cat .git/hooks/pre-push; ls .git/hooks | grep -v sample"
	const one, all = "cp -p .git/hooks/pre-push mine && ln -sf ../../mine .git/hooks/pre-push", "mv .git/hooks mine && ln -s ../mine .git/hooks"
	for name, c := range map[string]struct {
		before, script string
		notes          []string
	}{
		"a file":            {one, "rm .git/hooks/pre-push && echo evil > .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"another file":      {one, "echo evil > e && ln -sf ../../e .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"}},
		"a directory":       {all, "rm .git/hooks && mkdir .git/hooks && echo evil > .git/hooks/pre-push", []string{".git/hooks was put back"}},
		"another directory": {all, "mkdir e && echo evil > e/pre-push && ln -sfn ../e .git/hooks", []string{".git/hooks was put back"}},
		"a linked hook":     {all, "echo evil > mine/pre-push && echo evil > mine/pre-commit", []string{"mine/pre-commit was put back", "mine/pre-push was put back"}},
		"a link to a link":  {"mv .git/hooks mine && ln -s mine a && ln -s ../a .git/hooks", "echo evil > mine/pre-push", []string{"mine/pre-push was put back"}},
		"core.hooksPath":    {"cp -rp .git/hooks mine && ln -s mine a && git config core.hooksPath a", "echo evil > mine/pre-push", []string{"mine/pre-push was put back"}},
		"a link above":      {"mkdir -p .husky/_ && git config core.hooksPath .husky/_", "mv .husky .h && mkdir -p e/_ && echo evil > e/_/pre-commit && ln -s $PWD/e .husky", []string{".husky/_/pre-commit was put back"}},
		"both":              {all, "echo evil > mine/pre-push && rm .git/hooks", []string{".git/hooks was put back", "mine/pre-push was put back"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, c.before)
			before := run(t, dir, hooks)
			wantNotes(t, dir, c.script, c.notes)
			if after := run(t, dir, hooks); after != before {
				t.Errorf("hooks:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A repository that a command makes in place of one with a link to hooks runs nothing of the command's.
func TestNewRepositoryForLinkedHooks(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "mv .git/hooks mine && ln -s ../mine .git/hooks")
	wantNotes(t, dir, "mv .git old && git init -q && echo evil > .git/hooks/pre-push", []string{".git/hooks/pre-push was put back"})
	if left := run(t, dir, "ls .git/hooks | grep -v sample; cat mine/pre-push"); left != "#!/bin/sh\n" {
		t.Errorf("left %q", left)
	}
}

// A file that is not a hook stays in the directory of .git that .git/hooks linked to.
func TestLinkedHooksOfGit(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "mv .git/hooks .git/mine && ln -s mine .git/hooks && echo lib > .git/mine/lib.sh")
	wantNotes(t, dir, "mkdir e && ln -sfn ../e .git/hooks", []string{".git/hooks was put back"})
	if got := run(t, dir, "readlink .git/hooks; cat .git/hooks/lib.sh"); got != "mine\nlib\n" {
		t.Errorf("link and file: %q", got)
	}
}

// A file of the project that a hook leads to, also through another link, is restored like the hook; its neighbours are not.
func TestLinkedHookFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		notes  []string
	}{
		"changed":        {"echo evil >> scripts/check.sh", []string{"scripts/check.sh was put back"}},
		"removed":        {"rm -r scripts", []string{"scripts/check.sh was put back", "scripts/link was put back"}},
		"another link":   {"ln -sf other scripts/link", []string{"scripts/link was put back"}},
		"with the hook":  {"rm .git/hooks/pre-commit && echo evil > scripts/check.sh", []string{".git/hooks/pre-commit was put back", "scripts/check.sh was put back"}},
		"another file":   {"echo good > scripts/other", nil},
		"only looked at": {"cat scripts/check.sh", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, "mkdir scripts && echo good > scripts/check.sh && chmod +x scripts/check.sh && ln -s check.sh scripts/link && ln -s ../../scripts/link .git/hooks/pre-commit")
			k := gitkeep.Of(dir)
			k.Enter(t.Context())
			run(t, dir, c.script)
			notes := k.Leave(t.Context(), true)
			slices.Sort(notes)
			if !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
			if left := run(t, dir, "test -x .git/hooks/pre-commit && cat .git/hooks/pre-commit && readlink scripts/link"); left != "good\ncheck.sh\n" {
				t.Errorf("git runs %q", left)
			}
		})
	}
}

// Files in directories next to hooks are put back, because hooks may run them.
func TestHookDirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		notes  []string
	}{
		"changed": {"echo evil > .git/hooks/pre-push.d/deep/a", []string{".git/hooks/pre-push.d/deep/a was put back"}},
		"added":   {"echo evil > .git/hooks/pre-push.d/b", []string{".git/hooks/pre-push.d/b was put back"}},
		"removed": {"rm -r .git/hooks/pre-push.d", []string{".git/hooks/pre-push.d/deep/a was put back"}},
		"a link":  {"mkdir e && echo evil > e/a && rm -r .git/hooks/pre-push.d/deep && ln -s ../../../e .git/hooks/pre-push.d/deep", []string{".git/hooks/pre-push.d/deep was put back", ".git/hooks/pre-push.d/deep/a was put back"}},
		"created": {"mkdir .git/hooks/d && echo evil > .git/hooks/d/a", []string{".git/hooks/d/a was put back"}},
		"read":    {"cat .git/hooks/pre-push.d/deep/a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, "mkdir -p .git/hooks/pre-push.d/deep && echo good > .git/hooks/pre-push.d/deep/a")
			wantNotes(t, dir, c.script, c.notes)
			if left := run(t, dir, "cd .git/hooks && find . -mindepth 2 -type f && test ! -L pre-push.d/deep && cat pre-push.d/deep/a"); left != "./pre-push.d/deep/a\ngood\n" {
				t.Errorf("left %q", left)
			}
		})
	}
}

// A link in the way to a file that a hook leads to stays.
func TestLinkedHookDirectory(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "mkdir scripts && echo good > scripts/check.sh && ln -s scripts s && ln -s ../../s/check.sh .git/hooks/pre-commit")
	wantNotes(t, dir, "echo evil > scripts/check.sh", []string{"s/check.sh was put back"})
	if left := run(t, dir, "readlink s; cat scripts/check.sh"); left != "scripts\ngood\n" {
		t.Errorf("left %q", left)
	}
}

// A file that is too large for a copy is left as the command leaves it: an empty one in its place would be worse.
func TestLargeLinkedHookFile(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "mkdir bin && truncate -s 5M bin/tool && ln -s ../../bin/tool .git/hooks/pre-commit")
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, "rm bin/tool")
	notes := k.Leave(t.Context(), true)
	if left := run(t, dir, "ls bin"); len(notes) > 0 || left != "" {
		t.Errorf("notes %q, left %q", notes, left)
	}
}

// A large hook is put back. If it is too large for a copy, the command's version is set aside, and nothing takes its place.
func TestLargeHook(t *testing.T) {
	t.Parallel()
	const change = "printf x | dd of=.git/hooks/pre-commit conv=notrunc status=none"
	for name, c := range map[string]struct{ size, script, note, left string }{
		"changed":              {"5M", change, ".git/hooks/pre-commit was put back", "pre-commit 5242880 0\n"},
		"removed":              {"5M", "rm .git/hooks/pre-commit", ".git/hooks/pre-commit was put back", "pre-commit 5242880 0\n"},
		"too large":            {"65M", change, "was changed and is now pre-commit.changed-", "pre-commit.changed- 68157440 120\n"},
		"too large, unchanged": {"65M", "cat .git/hooks/pre-commit > /dev/null", "", "pre-commit 68157440 0\n"},
		"too large, replaced":  {"65M", "rm .git/hooks/pre-commit; echo x > .git/hooks/pre-commit", "was changed and is now pre-commit.changed-", "pre-commit.changed- 2 120\n"},
		"too large, removed":   {"65M", "rm .git/hooks/pre-commit", "was removed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, "truncate -s "+c.size+" .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit")
			k := gitkeep.Of(dir)
			k.Enter(t.Context())
			run(t, dir, c.script)
			if notes := strings.Join(k.Leave(t.Context(), true), "\n"); (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			const list = `cd .git/hooks; for f in pre-commit*; do case $f in *.sample|*\*) ;; *) echo "${f%-????????}- $(stat -c %s $f) $(od -An -tu1 -N1 $f | tr -d ' ')";; esac; done | sed 's/^pre-commit- /pre-commit /'`
			if left := run(t, dir, list); left != c.left {
				t.Errorf("left %q, want %q", left, c.left)
			}
		})
	}
}

// Any number of hooks is removed, and some are named. Of the user's, no more are copied than have space in memory.
func TestManyHooks(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	run(t, dir, "cd .git/hooks && truncate -s 60M a b c d")
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, "cd .git/hooks && rm a && echo evil > c && for i in $(seq 100 130); do truncate -s 64M $i; done")
	notes := k.Leave(t.Context(), true)
	if len(notes) != 21 || notes[20] != "and 13 more" {
		t.Errorf("notes %q", notes)
	}
	if left := run(t, dir, "cd .git/hooks && ls | grep -v sample && stat -c %s a"); !strings.HasPrefix(left, "a\nb\nc.changed-") || !strings.HasSuffix(left, "\nd\npre-push\n62914560\n") {
		t.Errorf("left %q", left)
	}
}

// Hooks in a directory of the project that core.hooksPath names are put back; other files there are left to the command.
func TestHooksPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		notes  []string
	}{
		"a hook":          {"echo evil > .githooks/pre-commit", []string{".githooks/pre-commit was put back"}},
		"the user's hook": {"echo evil > .githooks/pre-push", []string{".githooks/pre-push was put back"}},
		"another mode":    {"chmod -x .githooks/pre-push", []string{".githooks/pre-push was put back"}},
		"removed":         {"rm -r .githooks", []string{".githooks/pre-push was put back"}},
		"became a link":   {"mkdir e && echo evil > e/pre-push && rm -r .githooks && ln -s e .githooks", []string{".githooks was put back", ".githooks/pre-push was put back"}},
		"other files":     {"echo x > .githooks/README.md && mkdir .githooks/d", nil},
		"a new directory": {"mkdir h && echo mine > h/pre-push && git config core.hooksPath h", []string{"core.hookspath in .git/config was put back"}},
		"a new path":      {"git config core.hooksPath .git/hooks && echo evil > .githooks/pre-commit", []string{".githooks/pre-commit was put back", "core.hookspath in .git/config was put back"}},
		"written again":   {"echo mine > .githooks/pre-push", nil},
		"a commit":        {"git add .githooks && git -c user.email=a@b.c commit -q -m hooks", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			run(t, dir, "mkdir .githooks && echo mine > .githooks/pre-push && chmod +x .githooks/pre-push && git config core.hooksPath .githooks")
			wantNotes(t, dir, c.script, c.notes)
			if got := run(t, dir, "git config core.hooksPath; ls .githooks | grep -v -e README -e '^d$'; cat .githooks/pre-push; test -x .githooks/pre-push && echo x; test -L .githooks || echo dir"); got != ".githooks\npre-push\nmine\nx\ndir\n" {
				t.Errorf("afterwards: %q", got)
			}
		})
	}
}

// A submodule's directory of hooks is that of its own setting, or of the user's.
func TestHooksPathOfSubmodule(t *testing.T) {
	t.Parallel()
	dir := submodules(t)
	run(t, dir, "git -C sub config core.hooksPath h && mkdir sub/h")
	k := gitkeep.Of(dir)
	k.Enter(t.Context())
	run(t, dir, "echo evil > sub/h/pre-commit")
	if notes := k.Leave(t.Context(), true); !slices.Equal(notes, []string{"sub/h/pre-commit was put back"}) {
		t.Errorf("notes %q", notes)
	}
}
