package snapshot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
)

// A file that is written again immediately with the same number of bytes may have the same stamp. The change is
// found nevertheless.
func TestSameStamp(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("a.txt", "0000")
	before := p.take()
	for i := range 100 {
		p.write("a.txt", fmt.Sprintf("%04d", i+1))
		after := p.take()
		if got := names(p.Changes(before, after)); !slices.Equal(got, []string{"a.txt"}) {
			t.Fatalf("round %d: changed = %q, want a.txt", i, got)
		}
		before = after
	}
}

// A command may set the modification time of a file, but not the time of that change.
func TestTimeSetBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return // where a file has one time
	}
	p := newProject(t)
	old := time.Now().Add(-time.Hour)
	set := func() {
		if err := os.Chtimes(p.path("a.txt"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	set()
	list := p.during(func() { p.write("a.txt", "two\n"); set() }) // as many bytes
	if got := names(list); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("changed = %q, want a.txt", got)
	}
}

// New files in a directory with only ignored files, and changes of a list of ignored files, are seen immediately.
func TestIgnoredAndNot(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(".gitignore", "*.log\n/dist/\nnested\n!keep.log\n")
	p.write("logs/a.log", "1")
	p.write("dist/x", "1")
	p.write("venv/.gitignore", "*\n") // which ignores itself
	p.write("venv/lib/x", "1")
	p.take()
	step := func(what string, f func(), want ...string) {
		t.Helper()
		list := p.during(f)
		if got := names(list); !slices.Equal(got, want) {
			t.Errorf("%s: changed = %q, want %q", what, got, want)
		}
	}
	step("ignored", func() {
		p.write("logs/b.log", "2")
		p.write("dist/y", "2")
		p.write("venv/lib/y", "2")
		p.write("deep/nested/z", "2")
	})
	step("not ignored", func() { p.write("logs/b.txt", "2"); p.write("logs/keep.log", "2") }, "logs/b.txt", "logs/keep.log")
	step("tenon's temporary files", func() { p.write(atomicfile.TempStart+"x", "1"); p.write("sub/"+atomicfile.TempStart+"x", "1") })
	step("a directory with the name of an ignored one elsewhere", func() { p.write("sub/dist/x", "1") }, "sub/dist/x")
	step("a file in the place of an ignored directory", func() { p.removeAll("dist"); p.write("dist", "file") }) // what was there is not known
	step("after it", func() { p.write("dist", "changed") }, "dist")
	step("the list in the directory goes", func() { mustRemove(p, "venv/.gitignore") })
	step("after it", func() { p.write("venv/lib/x", "3"); p.write("venv/new", "3") }, "venv/lib/x", "venv/new")
	p.write("moved/.gitignore", "/x\n")
	p.write("moved/x", "1")
	mustRemove(p, ".gitignore")
	p.take()
	if err := os.Rename(p.path("moved/.gitignore"), p.path(".gitignore")); err != nil {
		t.Fatal(err)
	}
	p.take()
	step("after a list was moved up", func() { p.write("moved/x", "2"); p.write("x", "1") }, "moved/x")
	p.write(".git/info/exclude", "*.own\n")
	step("the list in the repository", func() { p.write("x.own", "1"); p.write("x.other", "1") }, "x.other")
	p.write(".git/info/exclude", strings.Repeat("# a long list\n", 1<<17)+"*.mine\n")
	step("a long list in the repository", func() { p.write("x.mine", "1"); p.write("y.other", "1") }, "y.other")
	p.write("known", "1")
	step("ignored by the command that changes it", func() { p.write(".gitignore", "known\n"); p.write("known", "2") }, ".gitignore", "known")
	p.write(".gitignore", strings.Repeat("a\n", 4<<20))
	start := time.Now()
	step("a list of millions of lines", func() { p.write("new", "1") }, "new")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a list of millions of lines took %v", took)
	}
}

// A command may replace the project's own repository and change a file.
func TestRepositoryReplaced(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.removeAll(".git")
	list := p.during(func() { p.git("init", "-q"); p.write("a.txt", "two\n") })
	if got := names(list); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("changed = %q, want a.txt", got)
	}
}

func TestNameInAnotherCase(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	list := p.during(func() {
		if err := os.Rename(p.path("a.txt"), p.path("A.txt")); err != nil {
			t.Fatal(err)
		}
	})
	if got := names(list); !slices.Equal(got, []string{"A.txt", "a.txt"}) {
		t.Errorf("changed = %q, want both names", got)
	}
	p.revert(list)
	if got := p.read("a.txt"); got != "one\n" {
		t.Errorf("a.txt = %q, want what was there", got)
	}
}

// The error says why the project's directory cannot be examined.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.take()
	p.removeAll(".")
	if _, err := p.Take(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Take() = %v, want os.ErrNotExist", err)
	}
}

// After many random changes, a state that is made from the previous one is equal to one that is made from scratch.
func TestScanRandom(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	r := rand.New(rand.NewPCG(7, 7))
	p.write(".gitignore", "*.log\nout/\n!b.log\n")
	p.take()
	for round := range 60 {
		for range 1 + r.IntN(5) {
			p.scramble(r)
		}
		got := p.take()
		fresh := &project{t: t, dir: p.dir, data: t.TempDir()}
		fresh.open()
		if list := p.Changes(fresh.take(), got); len(list) > 0 {
			t.Fatalf("round %d: the state differs from the files in %+v", round, list)
		}
		if round%10 == 9 {
			p.open() // as the next process
		}
	}
}

// scramble does one random thing to the files.
func (p *project) scramble(r *rand.Rand) {
	name := func() string {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = string(rune('a' + r.IntN(3)))
		}
		if r.IntN(6) == 0 {
			parts[0] = "out"
		}
		return strings.Join(parts, "/") + []string{"", "", ".log"}[r.IntN(3)]
	}
	at := p.path(name())
	// Each may fail, as when there is a file where a directory would have to be: then nothing has changed.
	switch r.IntN(7) {
	case 0, 1:
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, []byte(fmt.Sprint(r.IntN(10))), 0o644)
	case 2:
		_ = os.RemoveAll(at)
	case 3:
		_ = os.MkdirAll(at, 0o755)
	case 4:
		_ = os.Rename(at, p.path(name()))
	case 5:
		_ = os.Chmod(at, []os.FileMode{0o644, 0o755, 0o700}[r.IntN(3)])
	case 6:
		_ = os.Symlink("a", at)
	}
}

// Permissions are restored even if the content did not change: the file then stays the same file.
func TestPermissionsAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where a file has none of these
	}
	p := newProject(t)
	p.write("run", "#!/bin/sh\n")
	p.write("secret", "s")
	mode := func(name string, m os.FileMode) {
		if err := os.Chmod(p.path(name), m); err != nil {
			t.Fatal(err)
		}
	}
	mode("secret", 0o600)
	before := state(t, p.dir)
	was, err := os.Stat(p.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	list := p.during(func() { mode("run", 0o755); mode("secret", 0o644); mode("a.txt", 0o640|os.ModeSetgid) })
	if got := names(list); !slices.Equal(got, []string{"a.txt", "run", "secret"}) {
		t.Errorf("changed = %q, want all three", got)
	}
	p.revert(list)
	compare(t, "after the revert", state(t, p.dir), before)
	if is, err := os.Stat(p.path("run")); err != nil || !os.SameFile(was, is) {
		t.Errorf("run is another file now: %v", err)
	}
}

// Files beyond a limit are left out and reported, and the rest is kept.
func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{MaxFiles: 3}})
		for i := range 6 {
			p.write(fmt.Sprint("f", i), "x")
		}
		if tree := p.take(); len(tree.LeftOut) != 4 {
			t.Errorf("left out = %q, want 4 of 7", tree.LeftOut)
		}
		if tree := p.take(); len(tree.LeftOut) != 1 {
			t.Errorf("left out the second time = %q, want 1", tree.LeftOut)
		}
		list := p.during(func() { p.write("f0", "changed") })
		if got := names(list); !slices.Equal(got, []string{"f0"}) {
			t.Errorf("changed = %q, want f0", got)
		}
	})
	t.Run("size of a file", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{MaxFile: 10, MaxRecord: 20}})
		p.write("grows", "small")
		before := p.take()
		p.write("grows", "now more than ten")
		after := p.take()
		if list := p.Changes(before, after); len(list) != 0 || !slices.Equal(after.LeftOut, []snapshot.Path{"grows"}) {
			t.Errorf("changed = %q, left out = %q, want that grows is left out, and not taken for deleted", names(list), after.LeftOut)
		}
		if _, err := p.Record("grows"); err != nil {
			t.Errorf("Record() = %v", err)
		}
		p.write("grows", strings.Repeat("x", 21))
		if _, err := p.Record("grows"); !errors.Is(err, snapshot.ErrOff) || !strings.Contains(err.Error(), "more than 20 bytes") {
			t.Errorf("Record() of a larger one = %v, want ErrOff with the limit", err)
		}
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{MaxTime: time.Nanosecond}})
		_, err := p.Take(t.Context())
		if !errors.Is(err, snapshot.ErrOff) || !strings.Contains(err.Error(), "takes too long: more than 1ns") {
			t.Errorf("Take() = %v, want ErrOff with the limit", err)
		}
		if _, err := p.Record("a.txt"); err != nil {
			t.Errorf("Record() = %v", err)
		}
		p.open() // the next process knows
		if _, err := p.Take(t.Context()); !errors.Is(err, snapshot.ErrOff) {
			t.Errorf("Take() of the next process = %v, want ErrOff", err)
		}
	})
	t.Run("time of another process", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.take()
		p.due()
		p.age()
		synctest.Test(t, func(t *testing.T) {
			err := filelock.Do(t.Context(), filepath.Join(p.store(), "lock"), time.Hour, func() error {
				begun := time.Now()
				for range 3 {
					if _, err := p.Take(t.Context()); !errors.Is(err, filelock.ErrLocked) || errors.Is(err, snapshot.ErrOff) {
						t.Errorf("Take() during a longer one = %v, want ErrLocked", err)
					}
				}
				if waited := time.Since(begun); waited != 22*time.Second {
					t.Errorf("three calls of Take() waited %s, want one long wait", waited)
				}
				_, err := p.Collect(t.Context())
				return err
			})
			if err != nil {
				t.Errorf("Collect() while another process has the lock = %v", err)
			}
		})
		p.take()
		if due, err := p.Collect(t.Context()); !due || err != nil {
			t.Errorf("Collect() after that = %t, %v, want that it is still due", due, err)
		}
	})
	t.Run("size of all", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{MaxBytes: 1}})
		p.due()
		old := p.during(func() { p.write("a.txt", "two\n") })
		last := p.take()
		p.age()
		if due, err := p.Collect(t.Context()); !due || err != nil {
			t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
		}
		if err := p.Run(t.Context(), backwards(old)); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("Run() to what was given up = %v, want ErrGone", err)
		}
		p.write("a.txt", "three\n")
		p.revert(p.Changes(last, p.take())) // the latest is kept
		if got := p.read("a.txt"); got != "two\n" {
			t.Errorf("a.txt = %q, want two", got)
		}
	})
	t.Run("age", func(t *testing.T) {
		t.Parallel()
		p := newProject(t)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{KeepFor: time.Hour}})
		p.due()
		old := p.during(func() { p.write("a.txt", "two\n") })
		p.age()
		p.take()
		if due, err := p.Collect(t.Context()); !due || err != nil {
			t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
		}
		if err := p.Run(t.Context(), backwards(old)); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("Run() to what is too old = %v, want ErrGone", err)
		}
	})
}

// due makes a store that is not new, whose states are looked over when they are old.
func (p *project) due() {
	p.t.Helper()
	p.take()
	if _, err := p.Collect(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// age makes everything in the store two days old.
func (p *project) age() {
	p.t.Helper()
	past := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(p.store(), func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, past, past))
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Without git, or with one that does not work, the reason is reported.
func TestGitMissing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // the script is for a shell
	}
	p := newProject(t)
	none := snapshot.Options{Dir: p.data, Worktree: p.dir, Git: filepath.Join(p.dir, "no-git")}
	if _, err := snapshot.Open(none); !errors.Is(err, snapshot.ErrOff) || !strings.Contains(err.Error(), "git not found") {
		t.Errorf("Open() = %v, want git not found", err)
	}
	broken := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho unknown option >&2\nexit 129\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.openWith(snapshot.Options{Git: broken})
	if _, err := p.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown option") {
		t.Errorf("Take() = %v, want what git says", err)
	}
	// This git creates the store and fails afterwards, like an old version that does not know an option.
	old := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\nfor a; do case $a in init) exec git \"$@\";; esac; done\necho unknown option >&2\nexit 129\n"
	if err := os.WriteFile(old, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p.openWith(snapshot.Options{Git: old})
	for i := range 150 { // so many that git stores them
		p.write(fmt.Sprintf("many/%d", i), fmt.Sprint(i))
	}
	if _, err := p.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown option") {
		t.Errorf("Take() = %v, want what git says", err)
	}
	if _, err := p.Record("a.txt"); err != nil { // needs no git
		t.Errorf("Record() = %v", err)
	}
}

// The next process begins with the state of the last one, and sees what was changed between them.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for i := range 150 { // enough for one pack
		p.write(fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint(i))
	}
	before := p.take()
	p.open()
	p.write("d0/f0", "changed")
	mustRemove(p, "d1/f1")
	after := p.take()
	list := p.Changes(before, after)
	if got := names(list); !slices.Equal(got, []string{"d0/f0", "d1/f1"}) {
		t.Errorf("changed = %q, want d0/f0 and d1/f1", got)
	}
	p.open()
	p.revert(list)
	if same := p.take(); same.Hash != before.Hash {
		t.Errorf("after the revert = %s, want %s", same.Hash, before.Hash)
	}
	if err := os.RemoveAll(filepath.Join(p.store(), "refs", "tenon")); err != nil { // as if another process had removed all states
		t.Fatal(err)
	}
	if same := p.take(); same.Hash != before.Hash {
		t.Errorf("after the states were removed = %s, want %s", same.Hash, before.Hash)
	}
	if out := gitIn(t, p.store(), "fsck", "--full", "--strict"); strings.Contains(out, "error") {
		t.Errorf("git fsck of the store: %s", out)
	}
	if got := strings.TrimSpace(gitIn(t, p.store(), "cat-file", "-t", before.Hash)); got != "tree" {
		t.Errorf("the state is a %s for git, want a tree", got)
	}
}

// A project that is a part of a repository, and one whose .git is a file.
func TestWhereTheRepositoryIs(t *testing.T) {
	t.Parallel()
	apart := filepath.Join(t.TempDir(), "apart.git")
	p := bareProject(t)
	p.removeAll(".git")
	p.git("init", "-q", "--separate-git-dir", apart)
	if err := os.WriteFile(filepath.Join(apart, "info", "exclude"), []byte("*.mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.write("sub/x", "one")
	list := p.during(func() { p.write("sub/x", "two"); p.write("y.mine", "ignored") })
	if got := names(list); !slices.Equal(got, []string{"sub/x"}) {
		t.Errorf("changed = %q, want sub/x", got)
	}
	part := &project{t: t, dir: p.path("sub"), data: p.data}
	part.open()
	list = part.during(func() { part.write("x", "three"); p.write("elsewhere", "not in the project") })
	if got := names(list); !slices.Equal(got, []string{"x"}) {
		t.Errorf("changed in a part = %q, want x", got)
	}
	part.revert(list)
	if got := p.read("sub/x"); got != "two" {
		t.Errorf("sub/x = %q, want two", got)
	}
}

// Repositories inside of a project have states. The lists of ignored files above do not count in them.
func TestRepositoriesInside(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(".gitignore", "*.log\n")
	p.write("many/r00/.git/HEAD", "x")
	p.write("many/r00/x.log", "one")
	for _, dir := range []string{"a/", "a/a/"} {
		p.write(dir+".git/info/exclude", "*.own\n")
		p.write(dir+"x.log", "one")
	}
	list := p.during(func() {
		p.write("many/r00/x.log", "two")
		for _, dir := range []string{"a/", "a/a/"} {
			p.write(dir+"x.log", "two")
			p.write(dir+"x.own", "two")
		}
		p.write("x.log", "two")
		p.write("new/.git/HEAD", "x")
		p.write("new/x", "one")
	})
	want := []string{"a/a/x.log", "a/x.log", "many/r00/x.log"}
	if got := names(list); !slices.Equal(got, want) {
		t.Errorf("changed = %q, want %q", got, want)
	}
	p.write("many/.git/HEAD", "x") // other lists count from now on
	p.take()
	if got := names(p.during(func() { p.write("many/y.log", "one") })); !slices.Equal(got, []string{"many/y.log"}) {
		t.Errorf("in a new repository, changed = %q, want many/y.log", got)
	}
	p.removeAll("many/r00/.git")
	p.take()
	if got := names(p.during(func() { p.write("many/r00/x.log", "four") })); !slices.Equal(got, []string{"many/r00/x.log"}) {
		t.Errorf("in a directory of a new repository, changed = %q, want many/r00/x.log", got)
	}
	p.removeAll("many/.git")
	p.take()
	if got := names(p.during(func() { p.write("many/r00/x.log", "five") })); len(got) > 0 {
		t.Errorf("in a directory of no repository, changed = %q, want none", got)
	}
	if got := names(p.during(func() { p.removeAll("a") })); len(got) > 0 {
		t.Errorf("a repository was removed: changed = %q, want none", got)
	}
}
