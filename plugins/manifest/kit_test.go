package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/manifest"
)

// files are the content of a directory: "-> target" makes a link, "+x" at the start an executable.
type files map[string]string

func (f files) write(t *testing.T) string {
	t.Helper()
	return f.writeTo(t, filepath.Join(t.TempDir(), "package"))
}

func (f files) writeTo(t *testing.T, dir string) string {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if rest, ok := strings.CutPrefix(content, "+x"); ok {
			content, mode = rest, 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const head = `{"$schema": "` + manifest.PluginSchema + `", "name": "demo"`

// plain is a plugin.json with further fields.
func plain(fields string) string {
	if fields != "" {
		fields = ", " + fields
	}
	return head + fields + "}"
}

// extended is a plugin.json with tenon's extension.
func extended(extension string) string {
	return plain(`"extensions": {"io.github.tenonhq": ` + extension + `}`)
}

const wasmRuntime = `"runtime": {"type": "wasm", "module": "./p.wasm"}`

// withHook is a wasm package with one hook.
func withHook(hook string) files {
	return files{"plugin.json": extended(`{` + wasmRuntime + `, "hooks": [` + hook + `]}`), "p.wasm": "x"}
}

func withTool(tool string) files {
	return files{"plugin.json": extended(`{` + wasmRuntime + `, "tools": [` + tool + `]}`), "p.wasm": "x"}
}

func withCapability(capability string) files {
	return files{"plugin.json": extended(`{` + wasmRuntime + `, "capabilities": [` + capability + `]}`), "p.wasm": "x"}
}

const mcpHead = `{"$schema": "` + manifest.MCPSchema + `", "mcpServers": `

func withServers(servers string) files {
	return files{"plugin.json": plain(""), "mcp.json": mcpHead + servers + "}"}
}
