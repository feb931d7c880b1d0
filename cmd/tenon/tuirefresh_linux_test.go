package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTUIApprovalElsewhere: the UI uses a project's server from the prompt after its approval in another terminal.
func TestTUIApprovalElsewhere(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.inProject(t)
	p.output(t, 0, "plugin", "new", "srv", "--carrier", "mcp", "--lang", "node")
	must(t, os.WriteFile(filepath.Join(p.work, ".mcp.json"), []byte(`{"mcpServers": {"srv": {"command": "node", "args": ["srv/server.mjs"]}}}`), 0o644))
	x := p.onScreen(t, 100, 30, "--auto")
	x.shows("approve it? [y/N]")
	x.enter("n\r")
	x.shows("Ask anything")
	p.output(t, 0, "plugin", "trust", "srv", "--yes")
	x.enter(`srv_greet {"name": "Bea"}` + "\r")
	x.shows("Hello, Bea!")
	x.leave()
}
