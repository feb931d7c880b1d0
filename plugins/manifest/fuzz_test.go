package manifest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// FuzzPackage reads packages whose plugin.json is anything. Accepted packages obey the rules.
func FuzzPackage(f *testing.F) {
	f.Add([]byte(plain(`"version": "1", "author": {"name": "x"}, "keywords": ["a"]`)))
	f.Add([]byte(extended(`{` + wasmRuntime + `, "hooks": [{"point": "chat.params", "reads": ["/topP"]}]}`)))
	f.Add([]byte(extended(`{"runtime": {"type": "process", "command": ["./p.wasm"]}, "capabilities": [{"name": "http", "scope": ["https://a.example"]}]}`)))
	f.Add([]byte(`{"name": "demo", "name": "x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{"plugin.json": data, "p.wasm": nil} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		p, err := manifest.Read(dir)
		if err != nil {
			if !errors.Is(err, sdk.ErrManifest) || !strings.Contains(err.Error(), "plugin.json") {
				t.Errorf("error %v, want one that wraps sdk.ErrManifest and names the file", err)
			}
			return
		}
		m := sdk.Manifest{Name: p.Description.Name, Carrier: p.Carrier, Capabilities: p.Description.Capabilities, Options: p.Description.Options}
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		for i := range p.Description.Hooks {
			if _, err := hookpoint.Hook(&p.Description.Hooks[i], "hooks", nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzServers reads packages whose mcp.json is anything. Accepted servers obey the rules, and a bad file is never an error of the package.
func FuzzServers(f *testing.F) {
	f.Add([]byte(mcpHead + `{"a": {"type": "stdio", "command": "./x", "cwd": "${PLUGIN_ROOT}/y", "env": {"A": "b"}}}}`))
	f.Add([]byte(mcpHead + `{"a": {"type": "sse", "url": "https://example.com", "headers": {"A": "b"}}}}`))
	f.Add([]byte(`{"mcpServers": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{"plugin.json": []byte(plain("")), "mcp.json": data} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := manifest.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range p.Servers {
			expanded, err := s.Expand(dir, dir)
			if errors.Is(err, fs.ErrNotExist) || err != nil && strings.Contains(err.Error(), "too long") {
				continue
			}
			if err != nil {
				t.Errorf("server %q: %v", name, err)
			}
			if s.Type == manifest.ServerStdio && expanded.Env["PLUGIN_ROOT"] == "" {
				t.Errorf("server %q has no PLUGIN_ROOT", name)
			}
		}
	})
}

// FuzzDescribe reads any description. One that is accepted is accepted again after it was encoded.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte(`{"name": "a", "hooks": [{"point": "tool.execute.before", "reads": ["/args/x"], "onError": "stop"}]}`))
	f.Add([]byte(`{"name": "a", "tools": [{"id": "t", "description": "d", "parameters": {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}}]}`))
	f.Add([]byte(`{"name": "a", "options": {"type": "object"}, "capabilities": [{"name": "kv"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := manifest.Describe(data)
		if err != nil {
			if !errors.Is(err, sdk.ErrManifest) {
				t.Errorf("error %v does not wrap sdk.ErrManifest", err)
			}
			return
		}
		_ = manifest.CheckOptions(d.Options, nil) // ends, whatever it says
		again, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.Describe(again); err != nil {
			t.Errorf("what was accepted is not any more: %v\n%s", err, again)
		}
	})
}
