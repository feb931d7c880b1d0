package manifest_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/manifest"
)

// TestServers lists entries of mcp.json: which are left out, with what the warning has to say, and which are loaded. Another entry
// beside each is loaded in any case.
func TestServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry string
		want  string // part of the warning; empty: it is loaded
	}{
		"smallest stdio":           {`{"type": "stdio", "command": "node"}`, ""},
		"everything of stdio":      {`{"type": "stdio", "command": "./bin/s", "args": ["$HOME", "a b"], "env": {"A": "${X}"}, "cwd": "./sub"}`, ""},
		"command not built yet":    {`{"type": "stdio", "command": "./bin/none"}`, ""},
		"cwd is the package":       {`{"type": "stdio", "command": "node", "cwd": "./"}`, ""},
		"cwd is the data":          {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}/"}`, ""},
		"cwd is the root":          {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}"}`, ""},
		"cwd in the root":          {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}/sub"}`, ""},
		"cwd in the data":          {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}/x"}`, ""},
		"http":                     {`{"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"X-A": "b"}}`, ""},
		"sse":                      {`{"type": "sse", "url": "https://example.com/sse"}`, ""},
		"plain http, this machine": {`{"type": "streamable-http", "url": "http://127.5.5.5:80/mcp"}`, ""},
		"plain http, IPv6":         {`{"type": "streamable-http", "url": "http://[::1]/mcp"}`, ""},
		"plain http, localhost":    {`{"type": "streamable-http", "url": "http://localhost:80/mcp"}`, ""},

		"no object":             {`"node"`, "want an object"},
		"no type":               {`{"command": "node"}`, ".type: the server is left out: is missing"},
		"unknown type":          {`{"type": "http", "url": "https://example.com"}`, `unknown type "http"`},
		"type of other clients": {`{"type": "local", "command": ["node"]}`, "unknown type"},
		"unknown field":         {`{"type": "stdio", "command": "node", "disabled": true}`, ".disabled: the server is left out: unknown key"},
		"field of another type": {`{"type": "stdio", "command": "node", "url": "https://example.com"}`, ".url: the server is left out: unknown key"},
		"field twice":           {`{"type": "stdio", "command": "node", "command": "sh"}`, "duplicate key"},
		"no command":            {`{"type": "stdio"}`, ".command"},
		"command list":          {`{"type": "stdio", "command": ["node"]}`, ".command: the server is left out: want a string"},
		"command line":          {`{"type": "stdio", "command": "bin/node"}`, "neither a bare name"},
		"absolute command":      {`{"type": "stdio", "command": "/bin/sh"}`, "neither a bare name"},
		"command above":         {`{"type": "stdio", "command": "../x"}`, "neither a bare name"},
		"command leads out":     {`{"type": "stdio", "command": "./out"}`, "leads out"},
		"command by a variable": {`{"type": "stdio", "command": "${PLUGIN_ROOT}/x"}`, "neither a bare name"},
		"null args":             {`{"type": "stdio", "command": "node", "args": null}`, ".args: the server is left out: want a list, have null"},
		"number in args":        {`{"type": "stdio", "command": "node", "args": [1]}`, ".args[0]"},
		"argument with NUL":     {`{"type": "stdio", "command": "node", "args": ["a\u0000"]}`, "NUL character"},
		"cwd is a dot":          {`{"type": "stdio", "command": "node", "cwd": "."}`, ".cwd"},
		"number in env":         {`{"type": "stdio", "command": "node", "env": {"A": 1}}`, ".env.A"},
		"env with PLUGIN_ROOT":  {`{"type": "stdio", "command": "node", "env": {"PLUGIN_ROOT": "/"}}`, "tenon sets this variable"},
		"env with plugin_data":  {`{"type": "stdio", "command": "node", "env": {"plugin_data": "/"}}`, "tenon sets this variable"},
		"env with =":            {`{"type": "stdio", "command": "node", "env": {"A=B": ""}}`, "not the name of an environment variable"},
		"env twice":             {`{"type": "stdio", "command": "node", "env": {"A": "", "A": "b"}}`, "duplicate key"},
		"empty cwd":             {`{"type": "stdio", "command": "node", "cwd": ""}`, ".cwd"},
		"relative cwd":          {`{"type": "stdio", "command": "node", "cwd": "sub"}`, ".cwd"},
		"absolute cwd":          {`{"type": "stdio", "command": "node", "cwd": "/"}`, ".cwd"},
		"cwd above":             {`{"type": "stdio", "command": "node", "cwd": "./../x"}`, "leads out"},
		"cwd above the root":    {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}/../x"}`, "leads out"},
		"cwd above the data":    {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}/../x"}`, "leads out"},
		"cwd beside the root":   {`{"type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}x"}`, ".cwd"},
		"cwd leads out":         {`{"type": "stdio", "command": "node", "cwd": "./outdir"}`, "leads out"},
		"cwd home":              {`{"type": "stdio", "command": "node", "cwd": "${HOME}"}`, ".cwd"},
		"no url":                {`{"type": "sse"}`, ".url"},
		"relative url":          {`{"type": "sse", "url": "/mcp"}`, "not an absolute URL"},
		"other scheme":          {`{"type": "sse", "url": "file:///etc/passwd"}`, "not an absolute URL"},
		"plain http":            {`{"type": "sse", "url": "http://example.com"}`, "not encrypted"},
		"plain http, lookalike": {`{"type": "sse", "url": "http://localhost.example.com"}`, "not encrypted"},
		"plain http, number":    {`{"type": "sse", "url": "http://2130706433/"}`, "not encrypted"},
		"user in url":           {`{"type": "sse", "url": "https://me:secret@example.com"}`, "user name"},
		"fragment":              {`{"type": "sse", "url": "https://example.com/#x"}`, "fragment"},
		"empty fragment":        {`{"type": "sse", "url": "https://example.com/#"}`, "fragment"},
		"other letters":         {`{"type": "sse", "url": "https://ｅvil.example/mcp"}`, "write it as xn--"},
		"other dot":             {`{"type": "sse", "url": "https://evil。example/mcp"}`, "write it as xn--"},
		"letters in escapes":    {`{"type": "sse", "url": "https://%EF%BD%85vil.example/mcp"}`, "write it as xn--"},
		"path leads up":         {`{"type": "sse", "url": "https://example.com/a/../b"}`, "write it without"},
		"path leads up, coded":  {`{"type": "sse", "url": "https://example.com/a/%2E%2e/b"}`, "write it without"},
		"path with a dot":       {`{"type": "sse", "url": "https://example.com/./b"}`, "write it without"},
		"url with a line":       {`{"type": "sse", "url": "https://example.com/\n"}`, "not a URL"},
		"header name":           {`{"type": "sse", "url": "https://example.com", "headers": {"A B": ""}}`, "not the name of an HTTP header"},
		"header value":          {`{"type": "sse", "url": "https://example.com", "headers": {"A": "x\r\nB: y"}}`, "invalid value of an HTTP header"},
		"header twice":          {`{"type": "sse", "url": "https://example.com", "headers": {"A": "1", "a": "2"}}`, "is the same header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withServers(`{"tested": ` + c.entry + `, "good": {"type": "stdio", "command": "node"}}`)
			maps.Copy(f, files{"bin/s": "+x", "sub/x": "", "out": "-> /bin/sh", "outdir": "-> ..", "skills/s/SKILL.md": skill("s")})
			p, err := manifest.Read(f.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := p.Servers["good"]; !ok || len(p.Skills) != 1 {
				t.Errorf("the rest of the package is not loaded: %q", p.Warnings)
			}
			_, loaded := p.Servers["tested"]
			if loaded != (c.want == "") {
				t.Errorf("loaded %v, warnings %q", loaded, p.Warnings)
			}
			if got := strings.Join(p.Warnings, "\n"); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
			if c.want != "" && !strings.Contains(p.Warnings[0], ": mcpServers.tested") {
				t.Errorf("warning %q does not name file and field", p.Warnings[0])
			}
		})
	}
}

func TestServerNameTwice(t *testing.T) {
	t.Parallel()
	p, err := manifest.Read(withServers(`{"a": {"type": "stdio", "command": "node"}, "a": {"type": "stdio", "command": "sh"}}`).write(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Servers) > 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "mcpServers.a: no MCP servers are loaded: duplicate key") {
		t.Errorf("servers %v, warnings %q; want none, and one that names a", p.Servers, p.Warnings)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	root := files{"bin/s": "+x", "sub/x": ""}.writeTo(t, filepath.Join(t.TempDir(), "${PLUGIN_DATA}"))
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	data := files{"in/x": "", "out": "-> /"}.writeTo(t, filepath.Join(t.TempDir(), "data"))
	real, err := filepath.EvalSymlinks(data)
	if err != nil {
		t.Fatal(err)
	}
	s := manifest.Server{Type: manifest.ServerStdio, Stdio: manifest.Stdio{
		Command: "./bin/s",
		Args:    []string{"${PLUGIN_ROOT}/x:${PLUGIN_DATA}", "${HOME}", "$PLUGIN_ROOT", "${${PLUGIN_ROOT}}"},
		Env:     map[string]string{"${PLUGIN_ROOT}": "a", "B": "${PLUGIN_ROOT}", "PLUGIN_DATA": "mine"},
	}}
	before := slices.Clone(s.Args)
	got, err := s.Expand(root, data)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest.Server{Type: manifest.ServerStdio, Stdio: manifest.Stdio{
		Command: filepath.Join(root, "bin", "s"), Cwd: root,
		// The root's own name holds a placeholder: what was put in is not looked at again.
		Args: []string{root + "/x:" + data, "${HOME}", "$PLUGIN_ROOT", "${" + root + "}"},
		Env:  map[string]string{"${PLUGIN_ROOT}": "a", "B": root, "PLUGIN_ROOT": root, "PLUGIN_DATA": data, "CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": data},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Expand (-want +got):\n%s", diff)
	}
	if !slices.Equal(s.Args, before) || len(s.Env) != 3 {
		t.Error("Expand changed the entry")
	}
	for cwd, want := range map[string]string{
		"./sub": filepath.Join(root, "sub"), "${PLUGIN_ROOT}/sub": filepath.Join(root, "sub"),
		"${PLUGIN_DATA}": real, "${PLUGIN_DATA}/in": filepath.Join(real, "in"),
	} {
		got, err := manifest.Server{Type: manifest.ServerStdio, Stdio: manifest.Stdio{Command: "node", Cwd: cwd}}.Expand(root, data)
		if err != nil || got.Cwd != want || got.Command != "node" {
			t.Errorf("cwd %q: %q, %q, %v; want %q", cwd, got.Cwd, got.Command, err, want)
		}
	}
	for _, cwd := range []string{"${PLUGIN_DATA}/out", "${PLUGIN_DATA}/none", "./none"} {
		if got, err := (manifest.Server{Type: manifest.ServerStdio, Stdio: manifest.Stdio{Command: "node", Cwd: cwd}}).Expand(root, data); err == nil {
			t.Errorf("cwd %q became %q, want an error", cwd, got.Cwd)
		}
	}
}
