package trust_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/trust"
)

// TestDigestTells lists pairs of trees that must not have the same digest.
func TestDigestTells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b files }{
		"content":                 {files{"x": "1"}, files{"x": "2"}},
		"name":                    {files{"x": "1"}, files{"y": "1"}},
		"name and content run on": {files{"a": "b"}, files{"ab": ""}},
		"two files, one content":  {files{"a": "1", "b": "2"}, files{"a": "2", "b": "1"}},
		"line of the index":       {files{"a": ""}, files{"a\" \"\"": ""}},
		"executable bit":          {files{"x": "1"}, files{"x": "+x1"}},
		"empty directory":         {files{"x": "1"}, files{"x": "1", "d/": ""}},
		"file or directory":       {files{"x": ""}, files{"x/": ""}},
		"file in a directory":     {files{"a/b": "1"}, files{"a/": "", "b": "1"}},
		"file or link":            {files{"x": "y", "y": "y"}, files{"x": "-> y", "y": "y"}},
		"where a link leads":      {files{"x": "-> y", "y": "", "z": ""}, files{"x": "-> z", "y": "", "z": ""}},
		"out or in":               {files{"x": "-> /y"}, files{"x": "-> y"}},
		"case":                    {files{"x": "1"}, files{"X": "1"}},
		"further file":            {files{"x": "1"}, files{"x": "1", "y": ""}},
		"hidden file":             {files{"x": "1"}, files{"x": "1", ".y": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a, b := digest(t, c.a.write(t)), digest(t, c.b.write(t)); a == b {
				t.Errorf("both have the digest %s", a)
			}
		})
	}
}

func TestDigestIsTheSame(t *testing.T) {
	t.Parallel()
	f := files{"a/b": "1", "a-b": "2", "a": "", "x": "-> a/b"}
	delete(f, "a")
	want := digest(t, f.write(t))
	t.Run("in another place", func(t *testing.T) {
		if got := digest(t, f.write(t)); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
	t.Run("with the .git of a clone", func(t *testing.T) {
		dir := f.write(t)
		files{"HEAD": "x", "hooks/post-checkout": "+x"}.writeTo(t, filepath.Join(dir, ".git"))
		files{".git": "gitdir: x"}.writeTo(t, filepath.Join(dir, "a"))
		if got := digest(t, dir); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
	t.Run("through a link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(f.write(t), link); err != nil {
			t.Fatal(err)
		}
		if got := digest(t, link); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
	t.Run("with an absolute link inside", func(t *testing.T) {
		dir, err := filepath.EvalSymlinks(files{"a/b": "1", "a-b": "2"}.write(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "a", "b"), filepath.Join(dir, "x")); err != nil {
			t.Fatal(err)
		}
		if got := digest(t, dir); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
	t.Run("with an absolute link inside, through a link above", func(t *testing.T) {
		dir, above := files{"a/b": "1", "a-b": "2"}.write(t), filepath.Join(t.TempDir(), "link")
		if err := errors.Join(os.Symlink(filepath.Dir(dir), above), os.Symlink(filepath.Join(above, filepath.Base(dir), "a", "b"), filepath.Join(dir, "x"))); err != nil {
			t.Fatal(err)
		}
		if got := digest(t, dir); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	})
}

func TestSingleFile(t *testing.T) {
	t.Parallel()
	dir := files{"a.wasm": "1", "b.wasm": "1", "c": "+x1", "d": "1", "e": "-> a.wasm"}.write(t)
	of := func(name string) trust.Digest { return digest(t, filepath.Join(dir, name)) }
	if of("a.wasm") != of("b.wasm") || of("e") != of("a.wasm") {
		t.Error("the name of a single file counts")
	}
	if of("c") == of("d") {
		t.Error("the executable bit of a single file does not count")
	}
	if of("c") == digest(t, files{"plugin": "+x1"}.write(t)) {
		t.Error("a file and a package of that file have the same digest")
	}
}

// TestRefuses lists trees that cannot be approved.
func TestRefuses(t *testing.T) {
	t.Parallel()
	many := files{}
	for i := range 20_001 {
		many["f"+strconv.Itoa(i)] = ""
	}
	for name, c := range map[string]struct {
		files files
		size  int64 // of one more file
		want  string
	}{
		"too many files":        {many, 0, "more than 20000 entries"},
		"too many bytes":        {files{"f": "1"}, 512 << 20, "more than 512 MiB"},
		"too deep":              {files{strings.Repeat("a/", 65) + "e": ""}, 0, "more than 64 levels"},
		"name with an escape":   {files{"a\x1b[2J": ""}, 0, `a\u{1b}[2J`},
		"name with a line":      {files{"a\nb": ""}, 0, "cannot be shown"},
		"two names for one":     {files{"a": "", "A": ""}, 0, "the same file"},
		"name that turns round": {files{"a\u202egpj.sh": ""}, 0, `\u{202e}`},
		"name without letters":  {files{"a\xff": ""}, 0, `\x{ff}`},
		"name with a backslash": {files{`a\b`: ""}, 0, "rename it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := c.files.write(t)
			if c.size > 0 {
				if err := errors.Join(os.WriteFile(filepath.Join(dir, "large"), nil, 0o600), os.Truncate(filepath.Join(dir, "large"), c.size)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := trust.ReadTree(t.Context(), dir)
			if !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	t.Parallel()
	dir := files{
		"in": "-> a/f", "up": "-> a/../b", "nowhere": "-> none", "a/f": "", "a/back": "-> ../b", "b": "",
		"out": "-> ../x", "abs": "-> /etc/passwd", "proc": "-> /proc/self/environ", "deep": "-> a/../../x", "chain": "-> out",
		"through": "-> outdir/f", "outdir": "-> ..", "loop": "-> loop", "self": "-> .", "win": `-> C:\x`,
	}.write(t)
	want := []string{"abs", "chain", "deep", "loop", "out", "outdir", "proc", "through", "win"}
	s := seal(t, newVault(t), dir)
	for i, line := range s.LeftOut() {
		if name, _, _ := strings.Cut(line, ": a link that leads out"); len(s.LeftOut()) != len(want) || name != want[i] {
			t.Errorf("left out %q, want %q", s.LeftOut(), want)
		}
	}
	for _, name := range want {
		if _, err := os.Lstat(filepath.Join(s.Root, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is in the sealed copy: %v", name, err)
		}
	}
	if path, err := filepath.EvalSymlinks(filepath.Join(s.Root, "in")); err != nil || path != filepath.Join(s.Root, "a", "f") {
		t.Errorf("in leads to %q, %v", path, err)
	}
}

func TestReadTreeEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := trust.ReadTree(ctx, files{"a": "", "b": ""}.write(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if _, err := trust.ReadTree(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want os.ErrNotExist", err)
	}
}
