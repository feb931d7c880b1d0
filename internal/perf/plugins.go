//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/fakellm"
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

// plugins compares starts with and without ten idle plugins, half of them modules and half processes, run by run.
func (b *bench) plugins(ctx context.Context) {
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Text("done"))
	with, without := b.home(), b.home()
	b.install(ctx, with)
	var none, ten []sample
	for i := range b.runs + 1 {
		for list, home := range map[*[]sample]string{&none: without, &ten: with} {
			s := b.runIn(ctx, srv, home, "hello")
			if i > 0 { // the first creates the database
				*list = append(*list, s)
			}
		}
	}
	report("ten idle plugins, start to first request", ms(median(ten, first)-median(none, first)), "at most 5 ms more")
	report("  without / with", ms(median(none, first))+" / "+ms(median(ten, first)), "-")
}

// install writes the plugins into a project and approves them.
func (b *bench) install(ctx context.Context, home string) {
	module := must(os.ReadFile(filepath.FromSlash("plugins/wasm/testdata/echo.wasm")))
	for i := range idlePlugins {
		dir := filepath.Join(home, project, ".tenon", "plugins", fmt.Sprintf("idle-%d", i))
		check(os.MkdirAll(dir, 0o755))
		name, content, runtime := "plugin.wasm", module, `{"type": "wasm", "module": "./plugin.wasm"}`
		if i%2 == 1 {
			name, content, runtime = "plugin.sh", []byte("#!/bin/sh\nexit 1\n"), `{"type": "process", "command": ["./plugin.sh"]}`
		}
		check(os.WriteFile(filepath.Join(dir, name), content, 0o755))
		check(os.WriteFile(filepath.Join(dir, "plugin.json"), fmt.Appendf(nil, manifest, i, runtime, i), 0o644))
		trust := exec.CommandContext(ctx, b.tenon, "plugin", "trust", fmt.Sprintf("idle-%d", i), "--yes")
		trust.Dir, trust.Env = filepath.Join(home, project), environ(home)
		if out, err := trust.CombinedOutput(); err != nil {
			check(fmt.Errorf("%v: %w: %s", trust.Args, err, out))
		}
	}
}
