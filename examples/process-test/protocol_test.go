package processtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProtocolPage runs the plugin of docs/process-protocol.md, which uses no library.
func TestProtocolPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "process-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(page), "```python\n# rule.py\n")
	if !found {
		t.Fatal("the page has no rule.py")
	}
	code, _, _ = strings.Cut(code, "```")
	if lines := strings.Count(code, "\n"); lines > 20 {
		t.Errorf("the plugin has %d lines, want twenty", lines)
	}
	pkg := t.TempDir()
	for name, text := range map[string]string{
		"rule.py": code,
		"plugin.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "rule", "version": "0.1.0", "description": "A rule.", "extensions": {"io.github.tenonhq": {
			"runtime": {"type": "process", "command": ["python3", "./rule.py"]},
			"hooks": [{"point": "chat.system.transform", "writes": ["/system/-"]}]}}}`,
	} {
		if err := os.WriteFile(filepath.Join(pkg, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := turn(t, open(t, read(t, pkg)), "offline/offline", project(t, nil), "hello")
	if n := len(got.system); n == 0 || got.system[n-1] != "Answer in one sentence." {
		t.Errorf("system prompt %q", got.system)
	}
}
