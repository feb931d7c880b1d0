package paths_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

// project is a worktree with a directory, links that stay and links that leave, and an outside.
type project struct{ worktree, outside string }

func newProject(t *testing.T) project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := project{worktree: filepath.Join(base, "work"), outside: filepath.Join(base, "out")}
	mkdir(t, filepath.Join(p.worktree, "sub", "deep"))
	mkdir(t, filepath.Join(p.outside, "dir"))
	write(t, filepath.Join(p.worktree, ".env"))
	write(t, filepath.Join(p.outside, "secret"))
	link(t, filepath.Join(p.worktree, ".env"), filepath.Join(p.worktree, "innocent"))
	link(t, filepath.Join(p.outside, "secret"), filepath.Join(p.worktree, "leak"))
	link(t, filepath.Join(p.outside, "dir"), filepath.Join(p.worktree, "leakdir"))
	link(t, filepath.Join(p.outside, "new"), filepath.Join(p.worktree, "dangling"))
	link(t, filepath.Join(p.worktree, "leak"), filepath.Join(p.worktree, "chain"))
	link(t, "sub/deep", filepath.Join(p.worktree, "inner"))
	link(t, "loop", filepath.Join(p.worktree, "loop"))
	link(t, p.worktree, filepath.Join(base, "alias"))
	return p
}

func (p project) call() *sdk.ToolCall {
	return &sdk.ToolCall{Directory: filepath.Join(p.worktree, "sub"), Worktree: p.worktree}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

func TestResolve(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	dir := t.TempDir()
	call := &sdk.ToolCall{Directory: dir, Worktree: filepath.Dir(dir)}
	tests := map[string]struct{ arg, want string }{
		"empty is the directory": {"", dir},
		"relative":               {"a/b.go", filepath.Join(dir, "a", "b.go")},
		"dots":                   {"./a/../b", filepath.Join(dir, "b")},
		"above":                  {"../x", filepath.Join(filepath.Dir(dir), "x")},
		"absolute":               {filepath.Join(home, "x"), filepath.Join(home, "x")},
		"home":                   {"~", home},
		"below home":             {"~/x", filepath.Join(home, "x")},
		"another user's home":    {"~root/x", filepath.Join(dir, "~root", "x")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := paths.Resolve(call, tt.arg)
			if err != nil || got != tt.want {
				t.Errorf("Resolve(%q) = %q, %v, want %q", tt.arg, got, err, tt.want)
			}
		})
	}
	if _, err := paths.Resolve(call, "a\x00b"); !errors.Is(err, paths.ErrPath) {
		t.Errorf("Resolve of a NUL byte: error = %v, want ErrPath", err)
	}
}

func TestExternal(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	call := p.call()
	tests := map[string]struct {
		path string // below the worktree unless absolute
		want []string
	}{
		"file":                        {"sub/a.go", nil},
		"worktree itself":             {"", nil},
		"above the directory":         {".env", nil},
		"link that stays":             {"inner/x", nil},
		"link to a link outside":      {"chain", []string{p.outside + "/*"}},
		"link to a file outside":      {"leak", []string{p.outside + "/*"}},
		"link to a directory":         {"leakdir", []string{p.outside + "/dir/*"}},
		"new file behind a link":      {"leakdir/new/file", []string{p.outside + "/dir/new/*"}},
		"dangling link":               {"dangling", []string{p.outside + "/*"}},
		"dots behind a link":          {"leakdir/../secret", []string{p.outside + "/*"}},
		"dots out":                    {"../out/secret", []string{p.outside + "/*"}},
		"dots that come back":         {"leakdir/../../work/.env", nil},
		"dots out to a shell's eye":   {"inner/../../x", []string{filepath.Dir(p.worktree) + "/*"}},
		"sibling with the same start": {p.worktree + "2/x", []string{filepath.Dir(p.worktree) + "/work2/*"}},
		"worktree by another name":    {filepath.Join(filepath.Dir(p.worktree), "alias", "sub", "x"), nil},
		"endless link":                {"loop/x", nil},
		"existing directory outside":  {p.outside, []string{p.outside + "/*"}},
		"root":                        {"/", []string{"/*"}},
	}
	delete(tests, map[bool]string{true: "root"}[runtime.GOOS == "windows"])
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			abs := tt.path
			if !filepath.IsAbs(abs) {
				abs = p.worktree + "/" + tt.path
			}
			req, external := paths.External(call, abs)
			if external != (tt.want != nil) {
				t.Fatalf("External(%q) = %v, %v", abs, req, external)
			}
			if diff := cmp.Diff(tt.want, req.Patterns); diff != "" {
				t.Errorf("patterns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(req.Patterns, req.Always); diff != "" {
				t.Errorf("always differs from patterns (-patterns +always):\n%s", diff)
			}
		})
	}
}

// One request covers all paths outside, and then names no single file.
func TestExternals(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	call := &sdk.ToolCall{Directory: p.worktree, Worktree: p.worktree}
	if got := paths.Externals(call, p.worktree+"/x"); got != nil {
		t.Errorf("Externals() inside = %+v", got)
	}
	if got := paths.Externals(call, p.worktree+"/x", p.outside+"/a"); len(got) != 1 || got[0].Metadata["filepath"] != p.outside+"/a" {
		t.Errorf("Externals() of one = %+v", got)
	}
	got := paths.Externals(call, p.outside+"/a", p.outside+"/b", p.outside+"/dir/c")
	if want := []string{p.outside + "/*", p.outside + "/dir/*"}; len(got) != 1 || !slices.Equal(got[0].Patterns, want) || !slices.Equal(got[0].Always, want) || len(got[0].Metadata) != 0 {
		t.Errorf("Externals() of three = %+v, want %q", got, want)
	}
}

func TestExternalWorktreeIsLink(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	alias := filepath.Join(filepath.Dir(p.worktree), "alias")
	call := &sdk.ToolCall{Directory: alias, Worktree: alias}
	for _, abs := range []string{filepath.Join(alias, "a"), filepath.Join(p.worktree, "a")} {
		if req, external := paths.External(call, abs); external {
			t.Errorf("External(%q) = %v, true, want inside", abs, req.Patterns)
		}
	}
	if got := paths.Patterns(call, filepath.Join(alias, "a")); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("Patterns = %q, want a alone", got)
	}
	if _, external := paths.External(call, filepath.Join(alias, "leak")); !external {
		t.Error("a link out of the worktree counts as inside")
	}
}

func TestExternalDirectoryOutsideWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	call := &sdk.ToolCall{Directory: p.outside, Worktree: p.worktree}
	if _, external := paths.External(call, filepath.Join(p.outside, "secret")); external {
		t.Error("a file in the session's directory counts as outside")
	}
}

func TestExternalStarInName(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no * in names here")
	}
	p := newProject(t)
	req, _ := paths.External(p.call(), filepath.Join(p.outside, "*", "x"))
	if want := []string{p.outside + "/?/*"}; !cmp.Equal(req.Always, want) {
		t.Errorf("Always = %q, want %q", req.Always, want)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tests := map[string]struct {
		path string
		want []string
	}{
		"file":             {"sub/a.go", []string{"sub/a.go"}},
		"worktree":         {"", []string{"."}},
		"link to a secret": {"innocent", []string{"innocent", ".env"}},
		"link outside":     {"leak", []string{"leak", filepath.ToSlash(p.outside) + "/secret"}},
		"outside":          {"../out/secret", []string{filepath.ToSlash(p.outside) + "/secret"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := paths.Patterns(p.call(), filepath.Join(p.worktree, tt.path))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Patterns (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	inside := filepath.Join(p.worktree, "sub", "a.go")
	if got := paths.Display(p.call(), inside); got != "a.go" {
		t.Errorf("Display = %q, want it relative to the directory", got)
	}
	if got := paths.Title(p.call(), inside); got != "sub/a.go" {
		t.Errorf("Title = %q, want it relative to the worktree", got)
	}
	above := filepath.Join(p.worktree, ".env")
	if got := paths.Display(p.call(), above); got != filepath.ToSlash(above) {
		t.Errorf("Display = %q, want it absolute", got)
	}
}
