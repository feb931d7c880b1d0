package processtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sourceBlock is a file in a page: a block of Go whose first line is its name.
var sourceBlock = regexp.MustCompile("(?s)```go\n// ([a-z_]+\\.go)\n(.*?)```")

// TestTutorial follows docs/plugin-process.md, with the files on that page.
func TestTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugin-process.md"))
	if err != nil {
		t.Fatal(err)
	}
	// An overlay adds the files to this module: their own module would need the network.
	dir, err := filepath.Abs(filepath.Join("..", "word-count"))
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
	if len(replace) != 2 {
		t.Fatalf("the page has the files %v, want two", replace)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, pkg := filepath.Join(temp, "overlay.json"), t.TempDir()
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(pkg, "word-count")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", program, "../word-count")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	said, err := exec.CommandContext(t.Context(), program, "--describe").Output()
	if err != nil || !strings.Contains(string(said), `"word_count"`) {
		t.Errorf("--describe: %v\n%s", err, said)
	}
	_, about, found := strings.Cut(string(page), "```json\n")
	if !found {
		t.Fatal("the page has no plugin.json")
	}
	about, _, _ = strings.Cut(about, "```")
	if err := os.WriteFile(filepath.Join(pkg, "plugin.json"), []byte(about), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "word-count.exe"), nil, 0o700); err != nil { // the platforms name it
		t.Fatal(err)
	}
	dir = project(t, map[string]string{"a.go": "one two", "b/c.go": "three", "d.md": "four"})
	got := turn(t, open(t, read(t, pkg), readsProject), "offline/offline", dir, `word_count {"suffix": ".go"}`)
	if len(got.calls) != 1 || got.calls[0].State.Output != "3" || len(got.titles) == 0 {
		t.Errorf("calls %+v, progress %q, answer %q", got.calls, got.titles, got.answer)
	}
}
