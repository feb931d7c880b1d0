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

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/host/snapshot"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(template); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

// template is the repository that newProject copies, once it is made.
var template string

var makeTemplate = sync.OnceValue(func() error {
	var err error
	if template, err = os.MkdirTemp("", "tenon-snapshot-*"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(template, "a.txt"), []byte("one\n"), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if out, err := gitCommand(template, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	return nil
})

// project is a repository under test.
type project struct {
	*snapshot.Repo
	t    testing.TB
	dir  string
	data string
}

// newProject makes a repository with one commit.
func newProject(t testing.TB) *project {
	t.Helper()
	p := emptyProject(t)
	if err := errors.Join(makeTemplate(), os.CopyFS(p.dir, os.DirFS(template))); err != nil {
		t.Fatal(err)
	}
	p.open()
	return p
}

// bareProject makes a repository without commits.
func bareProject(t testing.TB) *project {
	t.Helper()
	p := emptyProject(t)
	p.git("init", "-q")
	p.open()
	return p
}

func emptyProject(t testing.TB) *project {
	t.Helper()
	p := &project{t: t, dir: filepath.Join(t.TempDir(), "work"), data: filepath.Join(t.TempDir(), "snapshots")}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) open() { p.openWith(snapshot.Options{}) }

// openWith opens the states as a new process would.
func (p *project) openWith(o snapshot.Options) {
	p.t.Helper()
	var err error
	o.Dir, o.Worktree = p.data, p.dir
	if p.Repo, err = snapshot.Open(o); err != nil {
		p.t.Fatal(err)
	}
}

// store is the directory of the project's states.
func (p *project) store() string {
	p.t.Helper()
	stores, err := filepath.Glob(filepath.Join(p.data, "*"))
	if err != nil || len(stores) != 1 {
		p.t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	return stores[0]
}

// git runs the user's git in the project.
func (p *project) git(args ...string) string {
	p.t.Helper()
	return gitIn(p.t, p.dir, args...)
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return cmd
}

func (p *project) path(name string) string { return filepath.Join(p.dir, name) }

func (p *project) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

func (p *project) take() *snapshot.Tree {
	p.t.Helper()
	tree, err := p.Take(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

// during returns what f changed.
func (p *project) during(f func()) []snapshot.Change {
	p.t.Helper()
	before := p.take()
	f()
	return p.Changes(before, p.take())
}

// revert takes changes back.
func (p *project) revert(list []snapshot.Change) {
	p.t.Helper()
	if err := p.Run(p.t.Context(), backwards(list)); err != nil {
		p.t.Fatal(err)
	}
}

func backwards(list []snapshot.Change) []snapshot.Step {
	steps := make([]snapshot.Step, len(list))
	for i, c := range list {
		steps[i] = snapshot.Step{Path: c.Path, From: c.After, To: c.Before}
	}
	return steps
}

func names(list []snapshot.Change) []string {
	var out []string
	for _, c := range list {
		out = append(out, string(c.Path))
	}
	return out
}

// state describes every file below a directory but .git: what it is, its permissions and its content. Directories have no content.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		if d.IsDir() {
			out[rel+"/"] = ""
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode()&os.ModeSymlink != 0 {
			content, err = os.Readlink(name)
		} else if info.Mode().IsRegular() {
			var b []byte
			b, err = os.ReadFile(name)
			content = string(b)
		}
		out[rel] = info.Mode().String() + " " + content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Changes of one command are found and reverted, and the user's repository stays unchanged.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		setup, change func(p *project)
		want          []string
	}{
		"edit, add and delete": {
			change: func(p *project) {
				p.write("a.txt", "two\n")
				p.write("new/deep/b.txt", "b")
			},
			want: []string{"a.txt", "new/deep/b.txt"},
		},
		"CRLF and text attributes": {
			setup: func(p *project) {
				p.git("config", "core.autocrlf", "true")
				p.write(".gitattributes", "* text=auto eol=crlf\n*.bin filter=lfs diff=lfs merge=lfs\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n")
				p.write("crlf.txt", "a\r\nb\n")
				p.write("x.bin", "version https://git-lfs\r\n")
				p.write("y.id", "$Id$\r\n")
				p.write("z.u16", "\xff\xfea\x00")
			},
			change: func(p *project) {
				for _, name := range []string{"crlf.txt", "x.bin", "y.id", "z.u16"} {
					p.write(name, p.read(name)+"more\r\n")
				}
			},
			want: []string{"crlf.txt", "x.bin", "y.id", "z.u16"},
		},
		"file becomes directory": {
			change: func(p *project) {
				mustRemove(p, "a.txt")
				p.write("a.txt/inside", "x")
			},
			want: []string{"a.txt", "a.txt/inside"},
		},
		"directory becomes file": {
			setup: func(p *project) { p.write("d/e/f", "x"); p.write("d/g", "y") },
			change: func(p *project) {
				if err := os.RemoveAll(p.path("d")); err != nil {
					p.t.Fatal(err)
				}
				p.write("d", "file")
			},
			want: []string{"d", "d/e/f", "d/g"},
		},
		"a file becomes a directory with nothing in it, and the other way": {
			setup: func(p *project) { p.mkdir("hollow") },
			change: func(p *project) {
				mustRemove(p, "a.txt")
				p.mkdir("a.txt")
				mustRemove(p, "hollow")
				p.write("hollow", "file")
			},
			want: []string{"a.txt", "hollow"},
		},
		"directories with nothing in them": {
			setup: func(p *project) {
				p.mkdir("stays")
				p.mkdir("goes/deep")
				p.mkdir("filled")
				p.write("emptied/x", "x")
				p.write("gone/deep/x", "x")
			},
			change: func(p *project) {
				p.mkdir("new/deep")
				p.removeAll("goes")
				p.removeAll("gone")
				p.write("filled/x", "x")
				mustRemove(p, "emptied/x")
			},
			want: []string{"emptied/x", "filled/x", "goes/deep", "gone/deep/x", "new/deep"},
		},
		"sparse checkout": {
			setup: func(p *project) {
				p.write("in/x", "x")
				p.write("out/y", "y")
				p.git("add", ".")
				p.git("commit", "-q", "-m", "second")
				p.git("sparse-checkout", "set", "in")
			},
			change: func(p *project) { p.write("in/x", "changed"); p.write("out/new", "n") },
			want:   []string{"in/x", "out/new"},
		},
		"repository in a repository in a repository": {
			setup: func(p *project) {
				p.write("one/x", "x")
				p.write("one/two/x", "x")
				gitIn(p.t, p.path("one"), "init", "-q")
				gitIn(p.t, p.path("one/two"), "init", "-q")
			},
			change: func(p *project) { p.write("one/x", "y"); p.write("one/two/x", "y"); p.write("one/two/new/z", "z") },
			want:   []string{"one/two/new/z", "one/two/x", "one/x"},
		},
		"attributes and lists of ignored files change too": {
			setup: func(p *project) { p.write(".gitignore", "*.log\n"); p.write("x.log", "ignored") },
			change: func(p *project) {
				p.write(".gitignore", "*.tmp\n")
				p.write(".gitattributes", "* filter=none\n")
				p.write("x.tmp", "ignored now")
				p.write("y.log", "not any more")
			},
			want: []string{".gitattributes", ".gitignore", "y.log"}, // x.log was there before
		},
		"names git would quote": {
			change: func(p *project) {
				p.write("a b\"c\t.txt", "1")
				p.write("ünï/☃.txt", "2")
				p.write("-rf", "3")
				p.write("line\nbreak", "4")
				p.write(`back\slash`, "5")
				p.write(":(top)x*?[1]", "6")
			},
			want: []string{"-rf", ":(top)x*?[1]", "a b\"c\t.txt", `back\slash`, "line\nbreak", "ünï/☃.txt"},
		},
		"repository inside without commits": {
			setup: func(p *project) {
				p.write("inner/x", "x")
				gitIn(p.t, p.path("inner"), "init", "-q")
			},
			change: func(p *project) { p.write("inner/x", "y"); p.write("inner/z", "z") },
			want:   []string{"inner/x", "inner/z"},
		},
		"submodule": {
			setup: func(p *project) {
				other := newProject(p.t)
				p.git("submodule", "--quiet", "add", other.dir, "lib")
				p.git("commit", "-q", "-m", "with submodule")
			},
			change: func(p *project) { p.write("lib/a.txt", "changed"); p.write("lib/new", "n") },
			want:   []string{"lib/a.txt", "lib/new"},
		},
		"our own files are left alone": {
			setup: func(p *project) {
				p.openWith(snapshot.Options{Exclude: []string{p.path(`o*w[n ?\`), p.path("inner/own"), filepath.Dir(p.dir)}})
				p.write("inner/x", "x")
				gitIn(p.t, p.path("inner"), "init", "-q")
			},
			change: func(p *project) {
				p.write(`o*w[n ?\`, "1")
				p.write("inner/own", "2")
				p.write("own", "3")
			},
			want: []string{"own"},
		},
		"ignored files are left alone": {
			setup: func(p *project) {
				p.write(".gitignore", "*.log\n")
				p.write(".git/info/exclude", "*.mine\n")
			},
			change: func(p *project) { p.write("x.log", "log"); p.write("x.mine", "mine"); p.write("b.txt", "b") },
			want:   []string{"b.txt"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && (strings.HasPrefix(name, "names") || strings.HasPrefix(name, "our own")) {
				return // which Windows does not allow
			}
			p := newProject(t)
			if test.setup != nil {
				test.setup(p)
			}
			p.git("add", "-A", ":(exclude)inner", ":(exclude)one")
			before, untouched := state(t, p.dir), gitState(t, p)
			list := p.during(func() { test.change(p) })
			if got := names(list); !slices.Equal(got, test.want) {
				t.Errorf("changed = %q, want %q", got, test.want)
			}
			after := state(t, p.dir)
			p.revert(list)
			want := before
			for _, ignored := range []string{"x.log", "x.mine", "x.tmp", `o*w[n ?\`, "inner/own"} {
				if !slices.Contains(test.want, ignored) && after[ignored] != "" {
					want[ignored] = after[ignored]
				}
			}
			compare(t, "after the revert", state(t, p.dir), want)
			forward := backwards(list)
			for i := range forward {
				forward[i].From, forward[i].To = forward[i].To, forward[i].From
			}
			if err := p.Run(t.Context(), forward); err != nil {
				t.Fatal(err)
			}
			compare(t, "after both", state(t, p.dir), after)
			compare(t, "the user's repository", gitState(t, p), untouched)
		})
	}
}

func (p *project) mkdir(name string) {
	p.t.Helper()
	if err := os.MkdirAll(p.path(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) removeAll(name string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

func mustRemove(p *project, name string) {
	p.t.Helper()
	if err := os.Remove(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

func compare(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q = %q, want %q", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %q = %q is there and should not", what, name, got[name])
		}
	}
}

// gitState describes all of the user's .git, with the times of files and directories.
func gitState(t testing.TB, p *project) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(p.path(".git"), func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[name] = info.ModTime().String()
			return nil
		}
		content, err := os.ReadFile(name)
		out[name] = info.ModTime().String() + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
