package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
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

// tellsKey returns a process whose model answers with the key of the request.
func tellsKey(t *testing.T) *process {
	t.Helper()
	llm := fakellm.New(t)
	llm.Handle(func(r fakellm.Request) fakellm.Reply {
		return fakellm.Text("Your key is " + r.Header.Get("Authorization") + ".")
	})
	p := newProcess(t, "")
	p.env = append(p.env, fmt.Sprintf(`TENON_CONFIG_CONTENT={"model": "mine/m1", "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q}}}}`, llm.URL()))
	return p
}

// TestSignInDuringChat: a chat uses a key from the prompt after it was stored in another terminal.
func TestSignInDuringChat(t *testing.T) {
	t.Parallel()
	p := tellsKey(t)
	c := converse(t, p.command("chat"))
	defer c.end()
	c.ask("hello")
	c.want("Your key is .")
	p.typed(t, 0, "good1", "auth", "login", "mine", "--no-test")
	c.ask("hello")
	c.want("Your key is Bearer good1.")
}

// TestSignInWhileAPluginIsBroken: a reload that fails is repeated, so that a chat uses the stored key once the plugin can be loaded. The failure is
// reported once for each change.
func TestSignInWhileAPluginIsBroken(t *testing.T) {
	t.Parallel()
	p := tellsKey(t)
	p.output(t, 0, "plugin", "new", "srv", "--carrier", "mcp", "--lang", "node")
	p.output(t, 0, "plugin", "trust", "./srv", "--yes")
	c := converse(t, p.command("chat", "--plugin", "srv"))
	defer c.end()
	c.ask("hello")
	c.want("Your key is .")
	manifest := filepath.Join(p.work, "srv", "plugin.json")
	text, err := os.ReadFile(manifest)
	must(t, errors.Join(err, os.WriteFile(manifest, []byte("{"), 0o644)))
	const warning = "changes made in another terminal cannot be loaded"
	for _, key := range []string{"good1", "good2"} {
		p.typed(t, 0, key, "auth", "login", "mine", "--no-test")
		c.ask("hello")
		c.want(warning)
		c.want("Your key is .")
		c.ask("hello")
		if seen := strings.Join(c.want("Your key is ."), "\n"); strings.Contains(seen, warning) {
			t.Errorf("reported again: %s", seen)
		}
	}
	must(t, os.WriteFile(manifest, text, 0o644))
	c.ask("hello")
	c.want("Your key is Bearer good2.")
}
