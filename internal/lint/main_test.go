package main

import (
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
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":               "module example\n\ngo 1.26\n",
		"all.go":               "package example\n\nimport \"fmt\"\n\nfunc Say() { fmt.Println(name()) }\n",
		"name_linux.go":        "package example\n\nfunc name() string { return \"linux\" }\n\nfunc idle() {}\n",
		"name_darwin.go":       "package example\n\nimport \"fmt\"\n\nfunc name() string { return fmt.Sprintf(\"%d\", \"darwin\") }\n",
		"name_windows_test.go": "package example\n\nfunc name() string { return \"windows\" }\n",
		"all_test.go":          "package example\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSay(t *testing.T) {\n\tvar f *os.File\n\tif f == nil {\n\t\tt.Fatal(\"none\")\n\t}\n\t_ = f.Name()\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{
		"linux/amd64": "name_linux.go:5:6: func idle is unused (U1000)", "darwin/arm64": "name_darwin.go:5:", "windows/amd64": "undefined: name",
	} {
		err := look(dir, target, "./...")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("%s: %v; want %q only", target, err, want)
		}
	}
}
