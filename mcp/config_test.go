package mcp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	servers, warnings, err := mcp.ReadConfig([]byte(`{"mcpServers":{
		"files":{"command":"npx","args":["-y","files","${HOME}/notes","${ROOT:-/srv}","$HOME","${}","${open"],"env":{"TOKEN":"${TOKEN}"},"cwd":"sub"},
		"far":{"type":"streamable-http","url":"https://${HOST}/mcp","headers":{"Authorization":"Bearer ${TOKEN}"},"timeout":1500,"autoApprove":[]},
		"old":{"type":"sse","url":"http://localhost:1/sse"},
		"plain":{"url":"https://a.example"},
		"off":{"command":"x","disabled":true}
	}}`), "/repo/.mcp.json", lookup(map[string]string{"HOME": "/home/me", "TOKEN": "a${HOME}b", "HOST": "h.example", "ROOT": ""}))
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.Server{
		{Name: "far", Transport: mcp.TransportHTTP, URL: "https://h.example/mcp", Headers: map[string]string{"Authorization": "Bearer a${HOME}b"}, Timeout: 1500 * time.Millisecond, Args: []string{}, Origin: "/repo/.mcp.json"},
		{Name: "files", Transport: mcp.TransportStdio, Command: "npx", Args: []string{"-y", "files", "/home/me/notes", "/srv", "$HOME", "${}", "${open"}, Env: map[string]string{"TOKEN": "a${HOME}b"}, Cwd: "sub", Origin: "/repo/.mcp.json"},
		{Name: "off", Transport: mcp.TransportStdio, Command: "x", Args: []string{}, Origin: "/repo/.mcp.json", Disabled: true},
		{Name: "old", Transport: mcp.TransportSSE, URL: "http://localhost:1/sse", Args: []string{}, Origin: "/repo/.mcp.json"},
		{Name: "plain", Transport: mcp.TransportHTTP, URL: "https://a.example", Args: []string{}, Origin: "/repo/.mcp.json"},
	}
	if diff := cmp.Diff(want, servers, cmpopts.IgnoreUnexported(mcp.Server{})); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "/repo/.mcp.json:3:124: mcpServers.far.autoApprove: unknown key is ignored") {
		t.Errorf("warnings = %q", warnings)
	}
	if d := string(servers[0].Definition()); strings.Contains(d, "h.example") || !strings.Contains(d, "Bearer ${TOKEN}") {
		t.Errorf("the definition holds values of variables: %s", d)
	}
}

// A bad server is named, with its file, key and remedy, and the others are loaded.
func TestReadConfigErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ entry, want string }{
		"unset variable": {`{"command":"x","args":["${NOPE}"]}`, "args[0]: variable NOPE is not set; set it, or add a default with ${NOPE:-…}"},
		"wrong type":     {`{"command":["npx","x"]}`, "command: want a string, have a list"},
		"no object":      {`7`, "want an object"},
		"other case":     {`{"Command":"x","OAuth":false}`, "neither command nor url"},
		"twice":          {`{"command":"x","command":"y"}`, "command: duplicate key"},
		"a hook's key":   {`{"command":"x","hooks":[{"Tool":"a"}]}`, `hooks[0].Tool: unknown key; did you mean "tool"?`},
		"unknown type":   {`{"type":"carrier-pigeon","url":"https://x"}`, `type: "carrier-pigeon": want stdio`},
		"neither":        {`{}`, "neither command nor url"},
		"both":           {`{"command":"x","url":"https://x"}`, "both command and url"},
		"no host":        {`{"url":"https:///x"}`, "absolute http or https"},
		"other scheme":   {`{"url":"ftp://x/y"}`, "absolute http or https"},
		"user":           {`{"url":"https://me:pw@x/y"}`, "put a token into headers"},
		"header":         {`{"url":"https://x","headers":{"A":"b\nC: d"}}`, "invalid header"},
		"variable name":  {`{"command":"x","env":{"A=B":"c"}}`, "invalid variable name"},
		"hook":           {`{"command":"x","hooks":[{"tool":"a","point":"tool.execute.later"}]}`, `unknown hook point "tool.execute.later"`},
		"hook tool":      {`{"command":"x","hooks":[{"point":"event"}]}`, "hooks[0].tool"},
		"timeout":        {`{"command":"x","timeout":-1}`, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, _, err := mcp.ReadConfig([]byte(`{"mcpServers":{"bad":`+test.entry+`,"good":{"command":"x"}}}`), "/repo/.mcp.json", lookup(nil))
			if err == nil || !errors.Is(err, mcp.ErrConfig) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "/repo/.mcp.json") || !strings.Contains(err.Error(), "bad") {
				t.Errorf("error = %v, want %q in it", err, test.want)
			}
			if len(servers) != 1 || servers[0].Name != "good" {
				t.Errorf("servers = %v", servers)
			}
		})
	}
	if _, _, err := mcp.ReadConfig([]byte("{\n\n\"mcpServers\": }"), "f.json", lookup(nil)); err == nil || !strings.Contains(err.Error(), "f.json:3") {
		t.Errorf("error = %v, want the line", err)
	}
}

func TestFromConfig(t *testing.T) {
	t.Parallel()
	off := false
	for name, test := range map[string]struct {
		config sdk.MCPConfig
		want   mcp.Server
		err    string
	}{
		"local": {
			sdk.MCPConfig{Type: "local", Command: []string{"node", "s.js"}, Environment: map[string]string{"A": "b"}, Timeout: 500},
			mcp.Server{Transport: mcp.TransportStdio, Command: "node", Args: []string{"s.js"}, Env: map[string]string{"A": "b"}, Timeout: 500 * time.Millisecond}, "",
		},
		"remote": {
			sdk.MCPConfig{Type: "remote", URL: "https://x/y", Headers: map[string]string{"H": "v"}},
			mcp.Server{Transport: mcp.TransportHTTP, URL: "https://x/y", Headers: map[string]string{"H": "v"}}, "",
		},
		"off": {sdk.MCPConfig{Enabled: &off}, mcp.Server{Disabled: true}, ""},
		"bad": {sdk.MCPConfig{Type: "nearby"}, mcp.Server{}, `mcp.bad.type: "nearby"`},
	} {
		test.want.Name = name
		got, err := mcp.FromConfig(name, &test.config)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: error = %v", name, err)
		}
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(mcp.Server{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPluginName(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"github": "mcp.github", "My Server": "mcp.my-server", "a__b..c": "mcp.a-b.c", "-x-": "mcp.x",
	} {
		s := mcp.Server{Name: server}
		if got := s.PluginName(); got != want {
			t.Errorf("PluginName(%q) = %q, want %q", server, got, want)
		}
	}
	seen := map[string]bool{}
	for _, server := range []string{"日本", "中国", strings.Repeat("long", 40), strings.Repeat("long", 41), strings.Repeat("-", 90), "a.-.b"} {
		m := mcp.New(mcp.Server{Name: server}, mcp.Options{}).Manifest()
		if err := m.Validate(); err != nil || seen[m.Name] {
			t.Errorf("server %q: name %q: %v", server, m.Name, err)
		}
		seen[m.Name] = true
	}
}
