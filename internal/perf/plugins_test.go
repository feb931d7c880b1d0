//go:build unix

package perf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// idlePlugins is the number of installed plugins.
const idlePlugins = 10

// manifest is the plugin.json of an idle plugin. Its hook is at a point that short turns do not reach.
const manifest = `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "idle-%d",
  "extensions": {"io.github.tenonhq": {
    "runtime": %s,
    "hooks": [{"point": "session.compacting", "reads": [""], "writes": [""]}],
    "tools": [{"id": "idle_%d", "description": "Does nothing", "parameters": {"type": "object"}}]
  }}
}`

// BenchmarkPlugins compares starts with and without ten idle plugins, half of them modules and half processes.
func BenchmarkPlugins(tb *testing.B) {
	b := newBench(tb)
	srv := b.server()
	with, without := b.home(), b.home()
	b.install(with)
	b.runIn(srv, with, "hello") // the first creates the database
	b.runIn(srv, without, "hello")
	var none, ten []sample
	for b.Loop() {
		none, ten = append(none, b.runIn(srv, without, "hello")), append(ten, b.runIn(srv, with, "hello"))
	}
	b.report(median(none, first), "ms-without")
	b.report(median(ten, first), "ms-with")
	b.report(median(ten, first)-median(none, first), "ms-more")
}

// install writes the plugins into a project and approves them.
func (b *bench) install(home string) {
	module, err := os.ReadFile(filepath.FromSlash("../../plugins/wasm/testdata/echo.wasm"))
	b.check(err)
	for i := range idlePlugins {
		dir := filepath.Join(home, project, ".tenon", "plugins", fmt.Sprintf("idle-%d", i))
		b.check(os.MkdirAll(dir, 0o755))
		name, content, runtime := "plugin.wasm", module, `{"type": "wasm", "module": "./plugin.wasm"}`
		if i%2 == 1 {
			name, content, runtime = "plugin.sh", []byte("#!/bin/sh\nexit 1\n"), `{"type": "process", "command": ["./plugin.sh"]}`
		}
		b.check(os.WriteFile(filepath.Join(dir, name), content, 0o755))
		b.check(os.WriteFile(filepath.Join(dir, "plugin.json"), fmt.Appendf(nil, manifest, i, runtime, i), 0o644))
		trust := exec.CommandContext(b.Context(), b.tenon, "plugin", "trust", fmt.Sprintf("idle-%d", i), "--yes")
		trust.Dir, trust.Env = filepath.Join(home, project), environ(home)
		if out, err := trust.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v: %s", trust.Args, err, out)
		}
	}
}
