package main_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestApprovalDuringChat: a chat uses a project's server from the prompt after its approval in another terminal.
func TestApprovalDuringChat(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.output(t, 0, "plugin", "new", "srv", "--carrier", "mcp", "--lang", "node")
	must(t, os.WriteFile(filepath.Join(p.work, ".mcp.json"), []byte(`{"mcpServers": {"srv": {"command": "node", "args": ["srv/server.mjs"]}}}`), 0o644))

	cmd := p.command("chat", "--auto")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	must(t, cmd.Start())
	said := lines(out)
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the chat ended with %v", err)
		}
		_ = w.Close()
		for range said { // ends with the pipe
		}
	}()
	ask := func(prompt, want string) {
		t.Helper()
		_, err := io.WriteString(in, prompt+"\n")
		must(t, err)
		timeout := time.After(30 * time.Second)
		var seen []string
		for {
			select {
			case line := <-said:
				if seen = append(seen, line); strings.Contains(line, want) {
					return
				}
			case <-timeout:
				t.Fatalf("%q did not appear after:\n%s", want, strings.Join(seen, "\n"))
			}
		}
	}
	ask(`srv_greet {"name": "Ada"}`, "MCP server srv is not approved and was skipped")
	p.output(t, 0, "plugin", "trust", "srv", "--yes")
	ask(`srv_greet {"name": "Bea"}`, "Hello, Bea!")
}
