package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The module is right on Linux; on Windows it has an error of types, on darwin one that only an analyzer finds.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":         "module example\n\ngo 1.26\n",
		"all.go":         "package example\n\nimport \"fmt\"\n\nfunc Say() { fmt.Println(name()) }\n",
		"name_linux.go":  "package example\n\nfunc name() string { return \"linux\" }\n",
		"name_darwin.go": "package example\n\nimport \"fmt\"\n\nfunc name() string { return fmt.Sprintf(\"%d\", \"darwin\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{"linux/amd64": "", "windows/amd64": "undefined: name", "darwin/arm64": "name_darwin.go:5:"} {
		err := look(dir, target)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", target, err, want)
		}
	}
}
