package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The module has a mistake for each system: one that staticcheck finds, one that go vet finds, and one that the compiler finds, but
// not in the package with its tests.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{
		"go.mod":               "module example\n\ngo 1.26\n",
		"all.go":               "package example\n\nfunc Say() string { return name() }\n",
		"name_linux.go":        "package example\n\nfunc name() string { return \"linux\" }\n\nfunc idle() {}\n",
		"name_darwin.go":       "package example\n\nfunc name() string {\n\ts := \"darwin\"\n\ts = s\n\treturn s\n}\n",
		"name_windows_test.go": "package example\n\nfunc name() string { return \"windows\" }\n",
		"say_linux_test.go":    "package example\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSay(t *testing.T) {\n\tvar f *os.File\n\tif f == nil {\n\t\tt.Fatal(\"none\")\n\t}\n\t_ = f.Name()\n}\n",
	})
	known := keysFile(t.TempDir(), "", nil)
	for target, want := range map[string]string{
		"linux/amd64": "name_linux.go:5:6: func idle is unused (U1000)", "darwin/arm64": "name_darwin.go:5:2: self-assignment of s", "windows/amd64": "undefined: name",
	} {
		err := look(known, dir, target, "./...")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("%s: %v; want %q only", target, err, want)
		}
	}
}

// TestKnown changes a module whose packages had no problems: a problem in a package that did not change itself is found.
func TestKnown(t *testing.T) {
	t.Parallel()
	const target = "linux/amd64"
	dir := module(t, map[string]string{
		"go.mod": "module example.com\n\ngo 1.26\n", "example.go": "package example\n\nimport \"example.com/name\"\n\nvar _ = name.Of()\n",
		"name/name.go": "package name\n\nfunc Of() string { return \"\" }\n", "other/other.go": "package other\n",
	})
	known := keysFile(t.TempDir(), target, []string{"./..."})
	var before map[string]bool
	for range 2 {
		if err := look(known, dir, target, "./..."); err != nil {
			t.Fatal(err)
		}
		before = known.read()
	}
	write(t, dir, "name/name.go", "package name\n\n// Of returns nothing.\n//\n// Deprecated: use a constant.\nfunc Of() string { return \"\" }\n")
	for range 2 { // packages with problems do not become known
		if err := look(known, dir, target, "./..."); err == nil || !strings.Contains(err.Error(), "example.go:5:9: example.com/name.Of is deprecated") {
			t.Errorf("%v; want that a function is deprecated", err)
		}
	}
	write(t, dir, "example.go", "package example\n")
	if err := look(known, dir, target, "./..."); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for key := range known.read() {
		if before[key] {
			kept++
		}
	}
	if len(before) != 3 || kept != 1 {
		t.Errorf("%d keys, of which %d stayed; want 3, and the one of the package that imports nothing", len(before), kept)
	}
}

// module returns a directory with files.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, content)
	}
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}
