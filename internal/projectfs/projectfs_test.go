package projectfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// tree is a project with a file and an outside with a secret, both in base.
func tree(t *testing.T) (base, project string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(base, "project")
	write(t, filepath.Join(project, "sub", "f"), "inside")
	write(t, filepath.Join(base, "out", "f"), "a secret")
	return base, project
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	base, project := tree(t)
	link(t, "sub", filepath.Join(project, "inner"))
	link(t, filepath.Join(base, "out"), filepath.Join(project, "leak"))
	link(t, "f", filepath.Join(project, "sub", "g"))
	for name, tt := range map[string]struct {
		path    string
		trusted []string
		want    error
	}{
		"file":                        {filepath.Join(project, "sub", "f"), []string{project}, nil},
		"file, nothing trusted":       {filepath.Join(project, "sub", "f"), nil, nil},
		"file above what is trusted":  {filepath.Join(base, "out", "f"), []string{project}, nil},
		"directory is a link inside":  {filepath.Join(project, "inner", "f"), []string{project}, projectfs.ErrChanged},
		"directory is a link outside": {filepath.Join(project, "leak", "f"), []string{project}, projectfs.ErrChanged},
		"file is a link":              {filepath.Join(project, "sub", "g"), []string{project}, projectfs.ErrSpecial},
		"directory":                   {filepath.Join(project, "sub"), []string{project}, projectfs.ErrDirectory},
		"root":                        {filepath.VolumeName(base) + string(filepath.Separator), []string{project}, projectfs.ErrDirectory},
		"missing":                     {filepath.Join(project, "none", "f"), []string{project}, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _, err := projectfs.Open(tt.trusted, tt.path)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Open(%q): error = %v, want %v", tt.path, err, tt.want)
			}
			if err == nil {
				_ = f.Close()
			}
		})
	}
}

func TestFSLinks(t *testing.T) {
	t.Parallel()
	base, project := tree(t)
	user := filepath.Join(project, ".config")
	links := map[string]string{
		"relative": "sub/f", "absolute": filepath.Join(project, "sub", "f"), "chain": "absolute", "up": "../project/sub/f",
		"leak": "../out/f", "leakabs": filepath.Join(base, "out", "f"), "leakchain": "leak", "leakdir": "../out",
	}
	for name, target := range links {
		link(t, target, filepath.Join(project, name))
	}
	write(t, filepath.Join(user, "own"), "own")
	link(t, "../../out/f", filepath.Join(user, "dotfile"))
	link(t, project, filepath.Join(base, "alias"))
	for name, tt := range map[string]struct {
		path, want string
		err        error
	}{
		"relative link inside":       {"relative", "inside", nil},
		"absolute link inside":       {"absolute", "inside", nil},
		"chain inside":               {"chain", "inside", nil},
		"out and in again":           {"up", "inside", nil},
		"link out":                   {"leak", "", projectfs.ErrOutside},
		"absolute link out":          {"leakabs", "", projectfs.ErrOutside},
		"chain out":                  {"leakchain", "", projectfs.ErrOutside},
		"file behind a link out":     {"leakdir/f", "", projectfs.ErrOutside},
		"new file behind it":         {"leakdir/new", "", projectfs.ErrOutside},
		"the user's own directory":   {".config/dotfile", "a secret", nil},
		"outside, not the project's": {filepath.Join(base, "out", "f"), "a secret", nil},
		"the directory":              {"sub", "", projectfs.ErrDirectory},
	} {
		for root, dir := range map[string]string{"": project, "by another name: ": filepath.Join(base, "alias")} {
			t.Run(root+name, func(t *testing.T) {
				t.Parallel()
				fsys := projectfs.New([]string{dir, ""}, []string{filepath.Join(dir, ".config"), ""})
				path := tt.path
				if !filepath.IsAbs(path) {
					path = filepath.Join(dir, filepath.FromSlash(path))
				}
				f, _, err := fsys.Open(path)
				if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
					t.Fatalf("Open(%q): error = %v, want %v", path, err, tt.err)
				}
				if err != nil {
					return
				}
				defer f.Close()
				if got, err := io.ReadAll(f); err != nil || string(got) != tt.want {
					t.Errorf("Open(%q) reads %q, %v, want %q", path, got, err, tt.want)
				}
			})
		}
	}
	fsys := projectfs.New([]string{project}, nil)
	if _, err := fsys.ReadDir(filepath.Join(project, "leakdir")); !errors.Is(err, projectfs.ErrOutside) {
		t.Errorf("ReadDir of a link out: error = %v, want ErrOutside", err)
	}
	if info, err := fsys.Stat(filepath.Join(project, "leak")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Stat of a link out = %v, %v, want the link itself", info, err)
	}
}

func TestUpward(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, root string
		want       []string
	}{
		"same":      {"/a/b", "/a/b", []string{"/a/b"}},
		"below":     {"/a/b/c", "/a", []string{"/a", "/a/b", "/a/b/c"}},
		"elsewhere": {"/a/b", "/x", []string{"/a/b"}},
		"root":      {"/a", "/", []string{"/", "/a"}},
	} {
		want := make([]string, len(c.want))
		for i := range c.want {
			want[i] = filepath.FromSlash(c.want[i])
		}
		if diff := cmp.Diff(want, projectfs.Upward(filepath.FromSlash(c.from), filepath.FromSlash(c.root))); diff != "" {
			t.Errorf("%s: Upward(%q, %q) (-want +got):\n%s", name, c.from, c.root, diff)
		}
	}
}

func TestFromHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for path, want := range map[string]string{"~/a/b": filepath.Join(home, "a", "b"), "~": "~", "~other/a": "~other/a", "a": "a", "/a": "/a"} {
		if got := projectfs.FromHome(home, path); got != want {
			t.Errorf("FromHome(%q) = %q, want %q", path, got, want)
		}
	}
	if got := projectfs.FromHome("", "~/a"); got != "~/a" {
		t.Errorf("without a home directory: %q", got)
	}
}

// A directory by another name is found by its identity.
func TestRel(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(dir), "other") // stands for a second drive or mount
	if err := os.Symlink(dir, other); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		root: ".", filepath.Join(root, "sub", "x"): "sub/x", filepath.Join(other, "root"): ".", filepath.Join(other, "root", "sub", "new", "x"): "sub/new/x",
		dir: "", filepath.Join(other, "roots", "x"): "", filepath.Join(root, "..", "x"): "",
	} {
		rel, ok := projectfs.Rel(root, path)
		if got := filepath.ToSlash(rel); got != want || ok != (want != "") {
			t.Errorf("Rel(%q) = %q, %v, want %q", path, got, ok, want)
		}
		if projectfs.Within(root, path) != ok {
			t.Errorf("Within(%q) = %v", path, !ok)
		}
	}
}
