package wasmtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sourceBlock is a file in a page: a block of Go whose first line is its name.
var sourceBlock = regexp.MustCompile("(?s)```go\n// ([a-z_]+\\.go)\n(.*?)```")

// TestTutorial follows docs/plugin-wasm.md, with the files on that page.
func TestTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugin-wasm.md"))
	if err != nil {
		t.Fatal(err)
	}
	// An overlay adds the files to this module: their own module would need the network.
	dir, err := filepath.Abs(filepath.Join("..", "house-rules"))
	if err != nil {
		t.Fatal(err)
	}
	temp, replace := t.TempDir(), map[string]string{}
	for _, file := range sourceBlock.FindAllStringSubmatch(string(page), -1) {
		path := filepath.Join(temp, file[1])
		if err := os.WriteFile(path, []byte(file[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(dir, file[1])] = path
	}
	if len(replace) != 3 {
		t.Fatalf("the page has the files %v, want three", replace)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	native := filepath.Join(temp, "native.exe")
	for _, command := range [][]string{{"go", "test", "-vet=off", "-c", "-o", native, "-overlay", list, "../house-rules"}, {native, "-test.run", "AddRules"}} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	_, about, found := strings.Cut(string(page), "```json\n")
	if !found {
		t.Fatal("the page has no plugin.json")
	}
	about, _, _ = strings.Cut(about, "```")
	p := openPackage(t, []byte(about), "../house-rules", nil, "-overlay", list)
	w, _, _ := turn(t, p, `{}`, "hello")
	if !slices.Contains(w.system, "Write tests first.") {
		t.Errorf("system prompt %q", w.system)
	}
}
