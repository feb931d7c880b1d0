package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Real servers, by every transport, take part in the first run of a fresh home: all their tools are there, and the answers are right.
func TestRealServersInTheFirstRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts nine servers of Node.js")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the tests need node: %v", err)
	}
	modules, err := filepath.Abs("../../mcp/testdata/npm/node_modules")
	must(t, err)
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("%v; install it: go run ./internal/testdeps", err)
	}
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"], "tool_search": {"disable": true}}`, "XDG_CONFIG_HOME="+filepath.Join(p.work, "config"))
	must(t, os.WriteFile(filepath.Join(p.work, "a.txt"), []byte("first line\n"), 0o600))
	reference := func(name string, args ...string) map[string]any {
		return map[string]any{"command": node, "args": append([]string{filepath.Join(modules, "@modelcontextprotocol", name, "dist/index.js")}, args...), "timeout": 120000}
	}
	everything := filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js")
	servers := map[string]any{
		"everything": reference("server-everything"),
		"web":        map[string]any{"type": "http", "url": everythingOver(t, node, everything, "streamableHttp") + "/mcp", "timeout": 120000},
		"events":     map[string]any{"type": "sse", "url": everythingOver(t, node, everything, "sse") + "/sse", "timeout": 120000},
		"files":      reference("server-filesystem", p.work),
		"memory":     reference("server-memory"),
		"thinking":   reference("server-sequential-thinking"),
		"sqlite": map[string]any{
			"command": node, "args": []string{filepath.Join(modules, "mcp-server-sqlite/dist/cli.js")}, "timeout": 120000,
			"env": map[string]string{"SQLITE_DB_PATH": filepath.Join(p.work, "people.db")},
		},
		"browser": map[string]any{"command": node, "args": []string{filepath.Join(modules, "@playwright/mcp/cli.js"), "--headless", "--executable-path", "/nonexistent/chrome"}, "timeout": 120000},
	}
	memory := servers["memory"].(map[string]any)
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(p.work, "memory.jsonl")}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(p.work, "config", "tenon"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.work, "config", "tenon", "mcp.json"), config, 0o600))
	out, errs := p.output(t, 0, "run", "--auto", strings.Join([]string{
		`everything_get-sum {"a": 2, "b": 3}`, `web_get-sum {"a": 20, "b": 3}`, `events_get-sum {"a": 200, "b": 3}`,
		`files_read_text_file {"path": "` + filepath.ToSlash(filepath.Join(p.work, "a.txt")) + `"}`,
		`memory_create_entities {"entities": [{"name": "tenon", "entityType": "host", "observations": ["small"]}]}`,
		`thinking_sequentialthinking {"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}`,
		`sqlite_transaction {"statements": ["CREATE TABLE people (name TEXT)", "INSERT INTO people VALUES ('Ada'), ('Bob')"]}`,
		`browser_browser_navigate {"url": "about:blank"}`,
	}, "\n"))
	for _, want := range []string{" 5.", " 23.", " 203.", "first line", `"tenon"`, `"totalThoughts": 1`, `"totalStatements": 2`, "/nonexistent/chrome"} {
		if !strings.Contains(out, want) {
			t.Errorf("the answers have no %q:\n%s\n%s", want, out, errs)
		}
	}
	out, errs = p.output(t, 0, "run", "-c", "--auto", `sqlite_query {"sql": "SELECT count(*) AS people, max(name) AS last FROM people"}`)
	if !strings.Contains(out, `"people": 2`) || !strings.Contains(out, `"last": "Bob"`) {
		t.Errorf("the table of the first turn:\n%s\n%s", out, errs)
	}
	list, _ := p.output(t, 0, "mcp", "list", "--format", "json")
	var found []struct {
		Name  string
		Check struct {
			Tools int
			Error string
		}
	}
	must(t, json.Unmarshal([]byte(list), &found))
	for _, s := range found {
		want := map[string]int{"everything": 17, "web": 17, "events": 17, "files": 14, "memory": 9, "thinking": 1, "sqlite": 10, "browser": 25}[s.Name]
		if s.Check.Error != "" || s.Check.Tools != want {
			t.Errorf("%s: %d tools, error %q; want %d", s.Name, s.Check.Tools, s.Check.Error, want)
		}
	}
}

// everythingOver starts the reference server over HTTP, and returns its address.
func everythingOver(t *testing.T, node, script, transport string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	must(t, free.Close())
	cmd := exec.CommandContext(t.Context(), node, script, transport)
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get(address)
		if err == nil {
			_ = resp.Body.Close()
			return address
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("the server over %s did not start: %v", transport, err)
		}
	}
}
