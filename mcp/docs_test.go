package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// The hook in docs/plugin-mcp.md works as it is printed there, with the configuration below it.
func TestHookOfTheGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/plugin-mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	script := block(t, string(page), "```js\n// guard.mjs\n")
	if lines := strings.Count(script, "\n"); lines >= 30 {
		t.Errorf("the hook has %d lines, want fewer than 30", lines)
	}
	var config sdk.Config
	if err := json.Unmarshal([]byte(block(t, string(page), "```json\n"+`{"mcp": {"guard"`)), &config); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("testdata/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	install(t, filepath.Dir(modules))
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "guard.mjs"), script)
	guard := config.MCP["guard"]
	s, err := mcp.FromConfig("guard", &guard)
	if err != nil || len(config.MCP) != 1 {
		t.Fatalf("servers %v, %v", config.MCP, err)
	}
	if s.Command, err = exec.LookPath("node"); err != nil {
		t.Fatalf("the tests need node: %v", err)
	}
	s.Own, s.Cwd, s.Timeout = true, dir, time.Minute
	p := ready(t, newTestHost(t), s)
	for _, h := range p.Hooks() {
		if h.Point != sdk.PointToolAfter {
			continue
		}
		answer, err := h.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{
			Point: h.Point, Input: json.RawMessage(`{"sessionID":"ses_1","tool":"bash"}`), Value: json.RawMessage(`{"output":"key sk-abcdefghijklmnopqrstuvwx"}`),
		})
		if err != nil || len(answer.Changes) != 1 || string(answer.Changes[0].Value) != `"key [key]"` {
			t.Errorf("answer %+v, %v", answer, err)
		}
		return
	}
	t.Errorf("missing hook at %s: %+v", sdk.PointToolAfter, p.Hooks())
}

// block returns the code block of a page that begins with a text.
func block(t *testing.T, page, begins string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, begins)
	if !found {
		t.Fatalf("the page has no block that begins with %q", begins)
	}
	code, _, _ := strings.Cut(rest, "```")
	_, first, _ := strings.Cut(begins, "\n")
	return first + code
}
