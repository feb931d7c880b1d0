package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/mcp/auth/authtest"
)

// docsServer starts an MCP server with one tool that requires sign-in, and returns a process that has it in its configuration.
func docsServer(t *testing.T) (*authtest.Service, *process) {
	t.Helper()
	s := authtest.New(t)
	s.MCP = http.HandlerFunc(greetings)
	p := newProcess(t, "")
	browser := filepath.Join(t.TempDir(), "browser")
	self, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(self, browser))
	p.env = append(p.env, "BROWSER="+browser, "TENON_CONFIG_CONTENT="+fmt.Sprintf(
		`{"enabled_providers": ["offline"], "mcp": {"docs": {"type": "remote", "url": %q}}}`, s.Address()))
	return s, p
}

// greetings serves MCP with one tool. The server of a library would initialize the library in each start of the command, which is this binary.
func greetings(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var request struct {
		ID     json.RawMessage
		Method string
	}
	result, known := "", false
	if err := json.NewDecoder(r.Body).Decode(&request); err == nil {
		result, known = map[string]string{
			"initialize": `{"protocolVersion": "2025-11-25", "serverInfo": {"name": "docs", "version": "1.0"}, "capabilities": {"tools": {}}}`,
			"tools/list": `{"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}`,
			"tools/call": `{"content": [{"type": "text", "text": "hello from the docs\u001b]0;a title\u0007"}]}`,
		}[request.Method]
	}
	switch {
	case known:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": %s}`, request.ID, result)
	case request.ID == nil: // a notification
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32601, "message": "unknown"}}`, request.ID)
	}
}

// The user signs in once; runs use and refresh the token. Without a user, a run names the command and continues.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	s, p := docsServer(t)
	must(t, os.WriteFile(filepath.Join(p.work, "a.txt"), []byte("the file"), 0o644))
	out, errs := p.output(t, 0, "run", "--auto", `read {"filePath": "a.txt"}`)
	if !strings.Contains(out, "the file") || !strings.Contains(errs, `fix="run tenon mcp login docs"`) {
		t.Errorf("run without sign-in: %s%s, want the answer and the command", out, errs)
	}
	expectOutput(t, p, 0, "not signed in", "mcp", "status")
	expectOutput(t, p, 0, "signed in to docs; it offers 1 tool", "mcp", "login", "docs")
	expectOutput(t, p, 0, "hello from the docs", "run", "--auto", "docs_greet {}")
	s.Revoke()
	expectOutput(t, p, 0, "hello from the docs", "run", "--auto", "docs_greet {}")
	expectOutput(t, p, 0, `"issuer": "`+s.URL, "mcp", "status", "--format", "json")
	if n := s.Count("authorize"); n != 1 {
		t.Errorf("%d sign-ins, want 1", n)
	}
	file := filepath.Join(p.dataDir(), credentials.File)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of %s = %v, %v, want 0600", file, info.Mode(), err)
	}
	s.Change(func() { s.Deny = true })
	expectOutput(t, p, 5, "access_denied", "mcp", "login", "docs")
	expectOutput(t, p, 0, "signed in", "mcp", "status")
	s.Change(func() { s.Deny, s.Needs = false, []string{"more"} })
	expectOutput(t, p, 1, "requires more scopes", "mcp", "call", "docs", "greet")
	expectOutput(t, p, 0, "requires more scopes", "mcp", "status")
	expectOutput(t, p, 0, "signed in to docs", "mcp", "login", "docs")
	s.RevokeAll()
	expectOutput(t, p, 1, "tenon mcp login docs", "mcp", "call", "docs", "greet")
	expectOutput(t, p, 0, "rejected; run: tenon mcp login docs", "mcp", "status")
	expectOutput(t, p, 0, "signed out of docs", "mcp", "logout", "docs")
	expectOutput(t, p, 2, "not signed in", "mcp", "logout", "docs")
	s.Change(func() { s.Deny = true })
	expectOutput(t, p, 5, "access_denied", "mcp", "login", "docs")
}

// A project's server at the same address does not use the user's token.
func TestMCPLoginOfProject(t *testing.T) {
	t.Parallel()
	s, p := docsServer(t)
	must(t, os.WriteFile(filepath.Join(p.work, ".mcp.json"), fmt.Appendf(nil, `{"mcpServers": {"copy": {"type": "http", "url": %q}}}`, s.Address()), 0o644))
	expectOutput(t, p, 0, "signed in to docs", "mcp", "login", "docs")
	expectOutput(t, p, 5, "approve it with", "mcp", "login", "copy")
	out, errs := p.output(t, 0, "mcp", "trust", "copy", "--yes")
	if !strings.Contains(out+errs, "tenon mcp login copy") {
		t.Errorf("trust: %s%s, want the command", out, errs)
	}
	expectOutput(t, p, 0, "signed in to copy", "mcp", "login", "copy")
	expectOutput(t, p, 0, "signed out of copy", "mcp", "logout", "copy")
	expectOutput(t, p, 0, "hello from the docs", "mcp", "call", "docs", "greet")
}

// tenon names the sign-in as the remedy where it helps, and only there.
func TestMCPLoginAsRemedy(t *testing.T) {
	t.Parallel()
	s, p := docsServer(t)
	const login, signIn = "run tenon mcp login docs", `"signIn": true`
	expectOutput(t, p, 1, login, "mcp", "tools", "docs")
	expectOutput(t, p, 0, login, "mcp", "list")
	expectOutput(t, p, 3, login, "doctor")
	expectOutput(t, p, 1, "run tenon mcp login other", "mcp", "add", "other", s.Address())
	expectOutput(t, p, 0, "removed other", "mcp", "remove", "other")
	expectOutput(t, p, 0, signIn, "mcp", "list", "--format", "json")
	expectOutput(t, p, 0, "signed in to docs", "mcp", "login", "docs")

	works := s.MCP
	for name, fail := range map[string]func(){
		"no token, because the authorization server is down": func() { s.Down = true },
		"no access for anybody": func() {
			s.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		},
	} {
		s.Change(fail)
		s.Revoke()
		out, errs := p.output(t, 1, "mcp", "list", "--check", "--format", "json")
		if strings.Contains(out+errs, "mcp login") || strings.Contains(out, signIn) {
			t.Errorf("%s: %s%s", name, out, errs)
		}
		s.Change(func() { s.Down, s.MCP = false, works })
	}
	expectOutput(t, p, 0, "hello from the docs", "run", "--auto", "docs_greet {}")
}

// Removing a server removes its token, which no command would find afterwards, unless the server is not removed or another one uses it.
func TestMCPRemoveSignsOut(t *testing.T) {
	t.Parallel()
	s, p := docsServer(t)
	expectOutput(t, p, 0, "signed in to docs", "mcp", "login", "docs")
	expectOutput(t, p, 0, "added copy", "mcp", "add", "copy", s.Address())
	file := filepath.Join(filepath.Dir(p.dataDir()), ".config", "tenon", "mcp.json")
	if os.Geteuid() != 0 { // root may write everywhere
		must(t, os.Chmod(filepath.Dir(file), 0o500))
		expectOutput(t, p, 1, "write "+file, "mcp", "remove", "copy")
		must(t, os.Chmod(filepath.Dir(file), 0o700))
		if !hasToken(t, p) {
			t.Error("the token is removed, but the server is not")
		}
	}
	expectOutput(t, p, 0, "removed copy", "mcp", "remove", "copy")
	expectOutput(t, p, 0, "hello from the docs", "mcp", "call", "docs", "greet")
	expectOutput(t, p, 0, "added copy", "mcp", "add", "copy", s.Address())
	expectOutput(t, p, 0, "signed out of docs, copy", "mcp", "logout", "docs")
	expectOutput(t, p, 0, "signed in to copy", "mcp", "login", "copy")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`) // without docs
	expectOutput(t, p, 0, "signed out of copy", "mcp", "remove", "copy")
	if hasToken(t, p) {
		t.Error("the token is still stored")
	}
}

func hasToken(t *testing.T, p *process) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dataDir(), credentials.File))
	must(t, err)
	return strings.Contains(string(content), "access-")
}

// expectOutput runs the command, which must end with the code and print the text, and no token.
func expectOutput(t *testing.T, p *process, code int, want string, args ...string) {
	t.Helper()
	out, errs := p.output(t, code, args...)
	if !strings.Contains(out+errs, want) {
		t.Errorf("tenon %q: %s%s, want %q", args, out, errs, want)
	}
	if strings.Contains(out+errs, "access-") || strings.Contains(out+errs, "refresh-") {
		t.Errorf("tenon %q prints a token: %s%s", args, out, errs)
	}
}

// A project's server whose tools cannot be stored as approved is not approved.
func TestMCPTrustThatFails(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	web := httptest.NewServer(http.HandlerFunc(greetings))
	t.Cleanup(web.Close)
	put(t, filepath.Join(p.work, ".mcp.json"), `{"mcpServers": {"docs": {"type": "http", "url": "`+web.URL+`"}}}`)
	must(t, os.MkdirAll(p.dataDir(), 0o700))
	dir := filepath.Join(p.dataDir(), "mcp")
	must(t, os.RemoveAll(dir))
	must(t, os.Symlink("nowhere", dir))
	expectOutput(t, p, 1, "store the approval of MCP server", "mcp", "trust", "docs", "--yes")
	must(t, os.Remove(dir))
	expectOutput(t, p, 0, "approve it with tenon plugin trust docs", "mcp", "list")
	expectOutput(t, p, 0, "approved docs", "mcp", "trust", "docs", "--yes")
}
