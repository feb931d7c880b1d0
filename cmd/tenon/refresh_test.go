package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestApprovalDuringChat: a chat uses a project's server from the prompt after its approval in another terminal.
func TestApprovalDuringChat(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.output(t, 0, "plugin", "new", "srv", "--carrier", "mcp", "--lang", "node")
	must(t, os.WriteFile(filepath.Join(p.work, ".mcp.json"), []byte(`{"mcpServers": {"srv": {"command": "node", "args": ["srv/server.mjs"]}}}`), 0o644))

	c := converse(t, p.command("chat", "--auto"))
	defer c.end()
	c.ask(`srv_greet {"name": "Ada"}`)
	c.want("MCP server srv is not approved and was skipped")
	p.output(t, 0, "plugin", "trust", "srv", "--yes")
	c.ask(`srv_greet {"name": "Bea"}`)
	c.want("Hello, Bea!")
}
