package snapshot_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/snapshot"
)

// No states are taken where they must not be, and the error says why. Single files are recorded, except without a project.
func TestOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, o := range map[string]snapshot.Options{
		"home directory":   {Worktree: home, Home: home},
		"above the home":   {Worktree: filepath.Dir(home), Home: home},
		"file system root": {Worktree: filepath.VolumeName(home) + string(filepath.Separator)},
		"the caller's":     {Worktree: t.TempDir(), Off: "not here"},
		"not there":        {Worktree: filepath.Join(home, "none")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Dir = t.TempDir()
			r, err := snapshot.Open(o)
			if err == nil {
				mine := filepath.Join(t.TempDir(), "mine")
				if _, err := r.Record(r.PathOf(mine)); err != nil || !r.Never() {
					t.Errorf("Record() = %v, Never() = %v, want that only single files are recorded", err, r.Never())
				}
				_, err = r.Take(t.Context())
			}
			if !errors.Is(err, snapshot.ErrOff) {
				t.Errorf("Open() and Take() = %v, want ErrOff", err)
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

// Large files are left out and reported. A file that grows too large does not count as deleted and is not lost.
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
	path := p.PathOf(p.path("large"))
	was, err := p.Record(path)
	if err != nil {
		t.Fatal(err)
	}
	p.write("large", "small")
	is, err := p.Record(path)
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

// Programs that the user or the repository configured do not run. A git command of the user shows that they would.
func TestNothingOfTheUserRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // the scripts are for a shell
	}
	tests := map[string]struct {
		config   map[string]string // command is the script that leaves a mark
		attrs    string
		hook     string
		user     []string // git arguments
		failing  bool     // so that they end with an error
		prepared func(p *project)
	}{
		"fsmonitor":         {config: map[string]string{"core.fsmonitor": "command"}, user: []string{"status"}},
		"clean filter":      {config: map[string]string{"filter.f.clean": "command"}, attrs: "* filter=f", user: []string{"add", "a.txt"}},
		"smudge filter":     {config: map[string]string{"filter.f.smudge": "command"}, attrs: "* filter=f", user: []string{"checkout-index", "-f", "a.txt"}},
		"filter process":    {config: map[string]string{"filter.f.process": "command", "filter.f.required": "true"}, attrs: "* filter=f", user: []string{"add", "a.txt"}, failing: true},
		"large file filter": {config: map[string]string{"filter.lfs.clean": "command", "filter.lfs.smudge": "command"}, attrs: "* filter=lfs diff=lfs merge=lfs -text", user: []string{"add", "a.txt"}},
		"textconv":          {config: map[string]string{"diff.d.textconv": "command"}, attrs: "* diff=d", user: []string{"diff"}},
		"external diff":     {config: map[string]string{"diff.external": "command"}, user: []string{"diff"}},
		"diff driver":       {config: map[string]string{"diff.d.command": "command"}, attrs: "* diff=d", user: []string{"diff"}},
		"included settings": {config: map[string]string{"include.path": "more"}, user: []string{"status"}, prepared: func(p *project) {
			p.write(".git/more", "[core]\n\tfsmonitor = "+p.path(".git/command")+"\n")
		}},
		"hook post-index-change":     {hook: "post-index-change", user: []string{"add", "a.txt"}},
		"hook reference-transaction": {hook: "reference-transaction", user: []string{"tag", "x"}},
		"hook pre-auto-gc": {hook: "pre-auto-gc", config: map[string]string{"gc.auto": "1", "gc.autoDetach": "false"}, user: []string{"gc", "--auto"}, prepared: func(p *project) {
			for i := range 300 { // git guesses from one directory of objects how many there are
				p.write(fmt.Sprint("objects/", i), fmt.Sprint("object ", i))
			}
			p.git("add", "-A")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			mark := filepath.Join(t.TempDir(), "ran")
			files := []string{".git/command"}
			if test.hook != "" {
				files = append(files, ".git/hooks/"+test.hook)
			}
			for _, f := range files {
				p.write(f, "#!/bin/sh\ntouch "+mark+"\n")
				if err := os.Chmod(p.path(f), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for key, value := range test.config {
				p.git("config", key, strings.ReplaceAll(value, "command", p.path(".git/command")))
			}
			p.write(".gitattributes", test.attrs+"\n")
			if test.prepared != nil {
				test.prepared(p)
			}
			list := p.during(func() { p.write("a.txt", "two\n"); p.write("b.txt", "two\n") })
			p.revert(list)
			for i := range 200 { // so many that git stores them
				p.write(fmt.Sprint("many/", i), fmt.Sprint(i))
			}
			p.take()
			if _, err := p.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			past := time.Now().Add(-48 * time.Hour)
			if err := os.Chtimes(filepath.Join(p.store(), "collected"), past, past); err != nil {
				t.Fatal(err)
			}
			if due, err := p.Collect(t.Context()); !due || err != nil {
				t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
			}
			if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("something of the user's ran: %v", err)
			}
			p.write("a.txt", "three\n")
			cmd := exec.Command("git", test.user...)
			cmd.Dir = p.dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_PAGER=cat")
			if out, err := cmd.CombinedOutput(); err != nil && !test.failing {
				t.Fatalf("git %v: %v: %s", test.user, err, out)
			}
			if _, err := os.Stat(mark); err != nil {
				t.Errorf("git %v of the user does not run it: %v", test.user, err)
			}
		})
	}
}

// If one cannot be restored, none of the others is.
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

// Goroutines and processes may take states concurrently, and a process that died leaves nothing that blocks others.
func TestTakeAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	second := &project{t: t, dir: p.dir, data: p.data}
	second.open()
	p.take()
	if err := os.WriteFile(filepath.Join(p.store(), ".new-cut-off"), nil, 0o600); err != nil {
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
	if err := os.WriteFile(filepath.Join(p.store(), "state"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.open()
	if list := p.during(func() { p.write("a.txt", "two") }); len(list) != 1 {
		t.Errorf("changed = %q after the state was damaged, want a.txt", names(list))
	}
}

// States older than a week are removed, and younger ones stay, whatever the age of the files in them.
func TestCollect(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("inner/x", "one")
	gitIn(t, p.path("inner"), "init", "-q")
	old := p.during(func() { p.write("a.txt", "two\n") })
	p.during(func() { p.write("inner/x", "two") })
	oldInner := p.during(func() { p.write("inner/x", "three") })
	if due, err := p.Collect(t.Context()); due || err != nil {
		t.Fatalf("Collect() of a new store = %t, %v, want nothing to do", due, err)
	}
	makeOld(t, p.store())
	fresh := p.during(func() { p.write("a.txt", "three\n"); p.write("inner/x", "four") })
	if due, err := p.Collect(t.Context()); !due || err != nil {
		t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
	}
	p.revert(fresh)
	if a, x := p.read("a.txt"), p.read("inner/x"); a != "two\n" || x != "three" {
		t.Errorf("a.txt = %q, inner/x = %q, want two and three", a, x)
	}
	for _, list := range [][]snapshot.Change{old, oldInner} {
		if err := p.Run(t.Context(), backwards(list)); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("Run() to an old state of %q = %v, want ErrGone", names(list), err)
		}
	}
}

// makeOld gives everything below a directory an age at which states are removed.
func makeOld(t *testing.T, dir string) {
	t.Helper()
	past := time.Now().Add(-snapshot.KeepFor - 48*time.Hour)
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, past, past))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The states of a project that was not used for so long that none can be restored are removed when another project removes its own, and those of a
// project that is used are not.
func TestCollectUnused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		use   func(other *project, store string) error // after everything has become old
		stays bool
	}{
		"unused":                  {func(*project, string) error { return nil }, false},
		"unused, never looked at": {func(_ *project, store string) error { return os.Remove(filepath.Join(store, "collected")) }, false},
		"collected recently": {func(_ *project, store string) error {
			return os.WriteFile(filepath.Join(store, "collected"), nil, 0o600)
		}, true},
		"file recorded recently": {func(other *project, _ string) error { _, err := other.Record("a.txt"); return err }, true},
		"pending change": {func(other *project, store string) error {
			err := other.Begin(&snapshot.Pending{ID: "x"})
			makeOld(other.t.(*testing.T), store)
			return err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, p := newProject(t), newProject(t)
			other.due()
			entry, err := other.Record("a.txt")
			store := other.store()
			p.data = other.data
			p.open()
			p.due()
			makeOld(t, p.data)
			if err = errors.Join(err, c.use(other, store)); err != nil {
				t.Fatal(err)
			}
			if due, err := p.Collect(t.Context()); !due || err != nil {
				t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
			}
			_, err = other.Contents(t.Context(), []string{entry.Hash})
			if c.stays && err != nil || !c.stays && !errors.Is(err, snapshot.ErrGone) {
				t.Errorf("Contents() of the other project = %v, want that they stay: %t", err, c.stays)
			}
			if list := other.during(func() { other.write("a.txt", "three\n") }); len(list) != 1 {
				t.Errorf("changed = %q, want a.txt", names(list))
			}
		})
	}
}

// The states of unused projects are removed until a time has passed, because a tool call waits for it: also by a project that is new, since some
// users work in a new directory each time.
func TestCollectUnusedUntil(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]int{time.Nanosecond: 2, time.Hour: 1} { // stores with contents, among them the project's own
		p := newProject(t)
		for range 2 {
			other := newProject(t)
			other.data = p.data
			other.open()
			other.take()
		}
		makeOld(t, p.data)
		p.openWith(snapshot.Options{Limits: snapshot.Limits{MaxRemoval: limit}})
		p.due()
		if left, err := filepath.Glob(filepath.Join(p.data, "*", "objects")); len(left) != want || err != nil {
			t.Errorf("%q have contents after %v, %v, want %d", left, limit, err, want)
		}
		for range 2 {
			makeOld(t, p.data)
			if due, err := p.Collect(t.Context()); !due || err != nil {
				t.Fatalf("Collect() = %t, %v, want that it was due", due, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(p.data, "*", "objects")); len(left) != 1 || err != nil {
			t.Errorf("%q have contents after %v, %v, want one", left, limit, err)
		}
	}
}

// A reference that is empty because the disk was full does not keep old states forever.
func TestCollectEmptyReference(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.take()
	for name, content := range map[string]string{"collected": "", "refs/tenon/" + tree.Hash: ""} {
		if err := os.WriteFile(filepath.Join(p.store(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, age := range []time.Duration{48 * time.Hour, -48 * time.Hour} { // the latter was written while the clock was ahead
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(p.store(), "collected"), at, at); err != nil {
			t.Fatal(err)
		}
		if due, err := p.Collect(t.Context()); !due || err != nil {
			t.Fatalf("Collect() after %s = %t, %v, want that it was due", age, due, err)
		}
	}
	if list := p.during(func() { p.write("a.txt", "two") }); len(list) != 1 {
		t.Errorf("changed = %q, want a.txt", names(list))
	}
}

// A store that git left half made, because it was killed or ran out of space, is made again.
func TestHalfMadeStore(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"HEAD", "HEAD.lock", "config", "config.lock"} {
		t.Run(left, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.take()
			store := p.store()
			err := errors.Join(os.RemoveAll(store), os.MkdirAll(store, 0o700), os.WriteFile(filepath.Join(store, left), nil, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			p.open()
			list := p.during(func() { p.write("a.txt", "two"); p.write("b.txt", "new") })
			p.revert(list)
			if got := p.read("a.txt"); got != "one\n" {
				t.Errorf("a.txt = %q, want one", got)
			}
		})
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

// The temporary file of a killed process is removed when the same file of the store is written next.
func TestUnfinishedFilesOfTheStore(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.take()
	pending := &snapshot.Pending{ID: "ses_1"}
	if err := errors.Join(p.Begin(pending), p.End(pending.ID), os.Remove(filepath.Join(p.store(), "state"))); err != nil {
		t.Fatal(err)
	}
	left := []string{filepath.Join(p.store(), "state.new"), filepath.Join(p.store(), "pending", "ses_1.json.new")}
	for _, name := range left {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.open()
	if list, err := p.Pending(); err != nil || len(list) != 0 {
		t.Errorf("Pending() = %v, %v, want none", list, err)
	}
	p.take()
	if err := p.Begin(pending); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", filepath.Base(name), err)
		}
	}
}

// A project that took too long once is left alone for a day, except for single files.
func TestSlowProject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.take()
	mark := filepath.Join(p.store(), "slow")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.open()
	if _, err := p.Take(t.Context()); !errors.Is(err, snapshot.ErrOff) {
		t.Errorf("Take() = %v, want ErrOff", err)
	}
	if _, err := p.Record("a.txt"); err != nil {
		t.Errorf("Record() = %v", err)
	}
	for _, age := range []time.Duration{25 * time.Hour, -25 * time.Hour} { // the latter was written while the clock was ahead
		at := time.Now().Add(-age)
		if err := os.Chtimes(mark, at, at); err != nil {
			t.Fatal(err)
		}
		p.open()
		p.take()
	}
}
