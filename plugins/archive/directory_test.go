package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
)

// TestDirectoryLinks: links that stay in the directory are kept, also if they go through other links, as those of npm workspaces do. The
// copy and what is unpacked of a packed directory have the same.
func TestDirectoryLinks(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "plugin")
	for _, name := range []string{"packages/x/cli.js", "packages/y", "outside"} {
		path := filepath.Join(dir, name)
		if name == "outside" {
			path = filepath.Join(top, name)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	above := filepath.Join(top, "above")
	if err := os.Symlink(top, above); err != nil {
		t.Fatal(err)
	}
	links := map[string]struct{ target, want string }{ // no want: left out
		"near":                {"packages/../packages/y", "packages/../packages/y"},
		"chain":               {"near", "near"},
		"missing":             {"packages/none", "packages/none"},
		"node_modules/x":      {"../packages/x", "../packages/x"},
		"node_modules/.bin/x": {"../x/cli.js", "../../packages/x/cli.js"},
		"folder":              {"packages/x", "packages/x"},
		"folder's":            {"folder/", "packages/x"},
		"beside":              {"folder/../y", "packages/y"}, // not y
		"parent":              {"folder/..", "packages"},
		"twice":               {"parent/x/cli.js", "packages/x/cli.js"},
		"absolute missing":    {filepath.Join(dir, "none", "y"), "none/y"},
		"absolute":            {filepath.Join(dir, "packages", "y"), "packages/y"},
		"through above":       {filepath.Join(above, "plugin", "packages", "y"), "packages/y"},
		"up":                  {"..", ""},
		"through up":          {"up/outside", ""},
		"beside above":        {filepath.Join(above, "outside"), ""},
		"root":                {"/", ""},
		"loop":                {"loop/x", ""},
		"other loop":          {"loop", ""},
	}
	for name, l := range links {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(l.target, path)); err != nil {
			t.Fatal(err)
		}
	}
	copied, unpacked := t.TempDir(), t.TempDir()
	content, err := archive.Directory{Path: filepath.Join(above, "plugin")}.Extract(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := archive.Pack(t.Context(), &b, archive.Directory{Path: dir}, "p"); err != nil {
		t.Fatal(err)
	}
	f := archive.File{Format: archive.TarGzip, Data: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
	again, err := f.Extract(t.Context(), unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if line := "loop: a link that leads out of the package, to loop/x"; !slices.Contains(content.LeftOut, line) || !slices.Contains(again.LeftOut, "p/"+line) {
		t.Errorf("left out %q, packed %q", content.LeftOut, again.LeftOut)
	}
	for name, l := range links {
		for _, in := range []string{copied, unpacked} {
			got, err := os.Readlink(filepath.Join(in, name))
			if filepath.ToSlash(got) != l.want || (err == nil) != (l.want != "") {
				t.Errorf("%s leads to %q, %v, want %q", name, got, err, l.want)
			}
		}
	}
}
