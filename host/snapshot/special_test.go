package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/snapshot"
)

// Where there must be none, there are no snapshots, and the error says why.
func TestOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, o := range map[string]snapshot.Options{
		"home directory":   {Worktree: home, Home: home},
		"above the home":   {Worktree: filepath.Dir(home), Home: home},
		"file system root": {Worktree: filepath.VolumeName(home) + string(filepath.Separator)},
		"not there":        {Worktree: filepath.Join(home, "none")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Dir = t.TempDir()
			if _, err := snapshot.Open(o); !errors.Is(err, snapshot.ErrOff) {
				t.Errorf("Open() = %v, want ErrOff", err)
			}
		})
	}
}

func TestRepositoryWithoutCommits(t *testing.T) {
	t.Parallel()
	p := bareProject(t)
	list := p.during(func() { p.write("a", "a") })
	if got := names(list); !slices.Equal(got, []string{"a"}) {
		t.Errorf("changed = %q, want a", got)
	}
	p.revert(list)
	compare(t, "after the revert", state(t, p.dir), map[string]string{})
}

func TestWorktreeOfARepository(t *testing.T) {
	t.Parallel()
	main := newProject(t)
	main.write(".git/info/exclude", "*.mine\n")
	p := &project{t: t, dir: filepath.Join(t.TempDir(), "second"), data: main.data}
	main.git("worktree", "add", "-q", p.dir)
	p.open()
	untouched := gitState(t, main)
	list := p.during(func() { p.write("a.txt", "two"); p.write("x.mine", "ignored") })
	if got := names(list); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("changed = %q, want a.txt", got)
	}
	p.revert(list)
	if got := p.read("a.txt"); got != "one\n" {
		t.Errorf("a.txt = %q after the revert", got)
	}
	compare(t, "the user's repository", gitState(t, main), untouched)
}

func TestSymlinksAndModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where files have neither
	}
	p := newProject(t)
	link := func(target, name string) {
		if err := errors.Join(os.RemoveAll(p.path(name)), os.Symlink(target, p.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	mode := func(name string, m os.FileMode) {
		if err := os.Chmod(p.path(name), m); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "secret", "readonly", "strange", "becomes-link"} {
		p.write(name, name)
	}
	mode("run", 0o755)
	mode("secret", 0o600)
	mode("readonly", 0o444)
	mode("strange", 0o751)
	link("a.txt", "link")
	link(outside, "out")
	link("nowhere", "dangling")
	before := state(t, p.dir)
	list := p.during(func() {
		mode("run", 0o644)
		for _, name := range []string{"secret", "readonly", "strange", "dangling"} {
			mustRemove(p, name)
		}
		link("run", "link")
		mustRemove(p, "out")
		p.write("out", "a file now")
		link("a.txt", "becomes-link")
	})
	want := []string{"becomes-link", "dangling", "link", "out", "readonly", "run", "secret", "strange"}
	if got := names(list); !slices.Equal(got, want) {
		t.Errorf("changed = %q, want %q", got, want)
	}
	p.revert(list)
	compare(t, "after the revert", state(t, p.dir), before)
	if content, err := os.ReadFile(outside); err != nil || string(content) != "outside" {
		t.Errorf("the file behind the link = %q, %v", content, err)
	}

	// Nothing is written through a directory that became a link.
	p.write("dir/file", "one")
	list = p.during(func() { p.write("dir/file", "two") })
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "file"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(elsewhere, "dir")
	if err := p.Run(t.Context(), backwards(list)); !errors.Is(err, snapshot.ErrChanged) {
		t.Errorf("Run() through a link = %v, want ErrChanged", err)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // where such names are not allowed
	}
	p := newProject(t)
	p.write("\xff\xfe/b\x80.txt", "one")
	list := p.during(func() { p.write("\xff\xfe/b\x80.txt", "two"); p.write("\xe9t\xe9", "new") })
	if got := names(list); !slices.Equal(got, []string{"\xe9t\xe9", "\xff\xfe/b\x80.txt"}) {
		t.Errorf("changed = %q", got)
	}
	for _, c := range list {
		text, err := c.Path.MarshalText()
		var back snapshot.Path
		if err != nil || back.UnmarshalText(text) != nil || back != c.Path {
			t.Errorf("%q becomes %q and then %q, %v", c.Path, text, back, err)
		}
	}
	p.revert(list)
	if got := p.read("\xff\xfe/b\x80.txt"); got != "one" {
		t.Errorf("the file = %q after the revert", got)
	}
}

// Large files are left out and told of; one that grows too large is not taken for deleted, and not lost.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	large := strings.Repeat("x", snapshot.MaxFile+1)
	p.write("large", large)
	if tree := p.take(); !slices.Equal(tree.LeftOut, []snapshot.Path{"large"}) {
		t.Errorf("left out = %q, want large", tree.LeftOut)
	}
	list := p.during(func() { p.write("large", large+"y") })
	if len(list) != 0 {
		t.Errorf("changed = %q, want nothing that is known", names(list))
	}
	path, err := p.PathOf(p.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	was, err := p.Record(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	p.write("large", "small")
	is, err := p.Record(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), []snapshot.Step{{Path: path, From: is, To: was}}); err != nil {
		t.Fatal(err)
	}
	if p.read("large") != large+"y" {
		t.Error("the large file is not as it was recorded")
	}
}

// What the user configured to run does not run.
func TestNothingOfTheUserRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	mark := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\ntouch " + mark + "\ncat\n"
	for _, hook := range []string{"post-index-change", "pre-auto-gc", "post-checkout", "reference-transaction"} {
		p.write(".git/hooks/"+hook, script)
		if err := os.Chmod(p.path(".git/hooks/"+hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.git("config", "core.fsmonitor", p.path(".git/hooks/post-checkout"))
	p.git("config", "filter.f.clean", p.path(".git/hooks/post-checkout"))
	p.git("config", "filter.f.smudge", p.path(".git/hooks/post-checkout"))
	p.write(".gitattributes", "* filter=f\n")
	list := p.during(func() { p.write("a.txt", "two\n") })
	p.revert(list)
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something of the user's ran: %v", err)
	}
}

// One that cannot be taken leaves the others untaken.
func TestRunIsAllOrNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("b.txt", "one")
	list := p.during(func() { p.write("a.txt", "two"); p.write("b.txt", "two"); p.write("c.txt", "two") })
	p.write("b.txt", "mine")
	before := state(t, p.dir)
	if err := p.Run(t.Context(), backwards(list)); !errors.Is(err, snapshot.ErrChanged) {
		t.Errorf("Run() = %v, want ErrChanged", err)
	}
	compare(t, "after the failure", state(t, p.dir), before)
	steps := backwards(list)
	steps[0].To.Hash = strings.Repeat("0", 40)
	if err := p.Run(t.Context(), steps); !errors.Is(err, snapshot.ErrGone) {
		t.Errorf("Run() to a content that is gone = %v, want ErrGone", err)
	}
	compare(t, "after the second failure", state(t, p.dir), before)
}

// Goroutines and processes may take states at once, and one that died leaves nothing that stands in the way.
func TestTakeAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	second := &project{t: t, dir: p.dir, data: p.data}
	second.open()
	p.take()
	stores, err := filepath.Glob(filepath.Join(p.data, "*"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	if err := os.WriteFile(filepath.Join(stores[0], "index.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			one := p
			if i%2 == 1 {
				one = second
			}
			if _, err := one.Take(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := os.WriteFile(filepath.Join(stores[0], "index"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := second.during(func() { p.write("a.txt", "two") }); len(list) != 1 {
		t.Errorf("changed = %q after the index was damaged, want a.txt", names(list))
	}
}

// States older than a week go, younger ones stay, whatever the age of the files in them.
func TestCollect(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	old := p.during(func() { p.write("a.txt", "two\n") })
	stores, err := filepath.Glob(filepath.Join(p.data, "*"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	if due, err := p.Collect(t.Context()); due || err != nil {
		t.Fatalf("Collect() of a new store = %t, %v, want nothing to do", due, err)
	}
	past := time.Now().Add(-snapshot.KeepFor - 48*time.Hour)
	err = filepath.WalkDir(stores[0], func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, past, past))
	})
	if err != nil {
		t.Fatal(err)
	}
	fresh := p.during(func() { p.write("a.txt", "three\n") })
	if due, err := p.Collect(t.Context()); !due || err != nil {
		t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
	}
	p.revert(fresh)
	if got := p.read("a.txt"); got != "two\n" {
		t.Errorf("a.txt = %q, want two", got)
	}
	if err := p.Run(t.Context(), backwards(old)); !errors.Is(err, snapshot.ErrGone) {
		t.Errorf("Run() to an old state = %v, want ErrGone", err)
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", `a\b`, "\xff", "\xef", "\ufffd", "ü\\x41", `\\`, `\x4`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := snapshot.Path(s).MarshalText()
		var back snapshot.Path
		if err != nil || back.UnmarshalText(text) != nil || string(back) != s {
			t.Errorf("%q becomes %q and then %q, %v", s, text, back, err)
		}
		var any snapshot.Path
		if any.UnmarshalText([]byte(s)) == nil && strings.Count(s, `\`) == 0 && string(any) != s {
			t.Errorf("%q is read as %q", s, any)
		}
	})
}

// A project that took too long once is left alone for a day, but for single files.
func TestSlowProject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.take()
	stores, err := filepath.Glob(filepath.Join(p.data, "*"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	mark := filepath.Join(stores[0], "slow")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.open()
	if _, err := p.Take(t.Context()); !errors.Is(err, snapshot.ErrOff) {
		t.Errorf("Take() = %v, want ErrOff", err)
	}
	if _, err := p.Record(t.Context(), "a.txt"); err != nil {
		t.Errorf("Record() = %v", err)
	}
	past := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(mark, past, past); err != nil {
		t.Fatal(err)
	}
	p.open()
	p.take()
}
