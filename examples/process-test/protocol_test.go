package processtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
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
			"hooks": [{"point": "chat.system.transform", "writes": ["/system/-"], "timeout": 60000}]}}}`,
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

// TestHookOfTheMCPPage runs the hook in Python of docs/plugin-mcp.md, with the manifest that follows from it.
func TestHookOfTheMCPPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugin-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(page), "```python\n# main.py\n")
	if !found {
		t.Fatal("the page has no main.py")
	}
	code, _, _ = strings.Cut(code, "```")
	if lines := strings.Count(code, "\n"); lines >= 30 {
		t.Errorf("the hook has %d lines, want fewer than 30", lines)
	}
	pkg := t.TempDir()
	copyFile(t, filepath.Join("..", "..", "sdk", "python", "tenon.py"), pkg)
	if err := os.WriteFile(filepath.Join(pkg, "main.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime := &sdk.Runtime{Type: string(sdk.CarrierProcess), Command: []string{"python3", "./main.py"}}
	d, err := process.New(process.Options{}).Describe(t.Context(), specOf(t, &manifest.Package{Root: pkg, Description: sdk.Description{Runtime: runtime}}))
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]any{
		"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": d.Name, "version": d.Version, "description": d.Summary,
		"extensions": map[string]any{sdk.ExtensionNamespace: sdk.Description{Runtime: runtime, Hooks: d.Hooks}},
	}
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "plugin.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, read(t, pkg))
	if err := p.Start(t.Context(), &fixedHost{slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	hook := p.(sdk.Hooker).Hooks()[0]
	answer, err := hook.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{
		Point: hook.Point, Hook: hook.Name, Input: json.RawMessage(`{"tool":"bash"}`), Value: json.RawMessage(`{"output":"key sk-abcdefghijklmnopqrstuvwx"}`),
	})
	if err != nil || len(answer.Changes) != 1 || string(answer.Changes[0].Value) != `"key [key]"` || hook.OnError != sdk.OnErrorStop {
		t.Errorf("hook %+v answers %+v, %v", hook, answer, err)
	}
}
