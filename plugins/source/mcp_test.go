package source_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// readPackage fetches a reference and reads the result as a plugin.
func readPackage(t *testing.T, f *source.Fetcher, ref string, pin *source.Pin) (*source.Fetched, *manifest.Package, error) {
	t.Helper()
	r, err := source.Parse(ref, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plugin")
	mkdir(t, dir)
	out, err := f.Fetch(t.Context(), r, pin, dir)
	if err != nil {
		return nil, nil, err
	}
	p, err := manifest.Read(dir)
	if err != nil || len(p.Warnings) > 0 {
		t.Fatalf("%s: %v, %+v", ref, err, p)
	}
	return out, p, nil
}

// zipped returns the files as a zip.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMCP(t *testing.T) {
	t.Parallel()
	npm := sourcetest.NewNPM(t)
	npm.Add(t, map[string]string{"package.json": `{"name":"@o/files","version":"1.0.0","bin":{"files":"dist/main.js","other":"x.js"},"dependencies":{"dep":"1"}}`, "dist/main.js": "require('dep')"})
	npm.Add(t, map[string]string{"package.json": `{"name":"dep","version":"1.0.0"}`, "index.js": ""})
	npm.Add(t, map[string]string{"package.json": `{"name":"single","version":"1.0.0","bin":"./cli.js"}`, "cli.js": ""})
	bundle := zipped(t, map[string]string{"manifest.json": `{"name":"b","version":"1","server":{"mcp_config":{"command":"node","args":["${__dirname}/a.js"]}}}`, "a.js": "1"})
	servers := map[string]string{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/{version}", func(w http.ResponseWriter, r *http.Request) {
		text, ok := servers[r.PathValue("name")]
		if !ok || r.PathValue("version") == "9" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"server":`+text+`,"_meta":{}}`)
	})
	mux.HandleFunc("GET /b.mcpb", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bundle) })
	npmPackage := `{"registryType":"npm","registryBaseUrl":"https://registry.npmjs.org","identifier":"@o/files","version":"1.0.0","transport":{"type":"stdio"},
		"packageArguments":[{"type":"positional","value":"run"},{"type":"named","name":"--level","default":"low"},{"type":"positional","valueHint":"optional"}],
		"environmentVariables":[{"name":"MODE","default":"safe"},{"name":"API_KEY","isSecret":true,"isRequired":true}]}`
	servers["io.x/files"] = `{"name":"io.x/files","version":"1.2.0","description":"Files","packages":[{"registryType":"pypi","identifier":"p","transport":{"type":"stdio"}},` + npmPackage + `]}`
	servers["io.x/single"] = `{"name":"io.x/single","version":"1","packages":[{"registryType":"npm","identifier":"single","version":"1.0.0","transport":{"type":"stdio"}}]}`
	servers["io.x/bundle"] = `{"name":"io.x/bundle","version":"1","packages":[{"registryType":"mcpb","identifier":"` + server.URL + `/b.mcpb","fileSha256":"` + hexSum(bundle) + `","transport":{"type":"stdio"}}]}`
	servers["io.x/remote"] = `{"name":"io.x/remote","version":"1","remotes":[{"type":"streamable-http","url":"https://example.com/mcp","headers":[{"name":"X-A","value":"b"}]}]}`
	servers["io.x/header"] = `{"name":"io.x/header","version":"1","remotes":[{"type":"sse","url":"https://example.com/mcp","headers":[{"name":"X-Key","isRequired":true,"isSecret":true}]}]}`
	servers["io.x/python"] = `{"name":"io.x/python","version":"1","packages":[{"registryType":"pypi","identifier":"p","transport":{"type":"stdio"}}]}`
	for name, identifier := range map[string]string{"nuget": "Some.Tool", "oci": "docker.io/o/p:1", "cargo": "crate"} {
		servers["io.x/"+name] = `{"name":"io.x/` + name + `","version":"1","packages":[{"registryType":"` + name + `","identifier":"` + identifier + `","version":"1.0","transport":{"type":"stdio"}}]}`
	}
	servers["io.x/template"] = `{"name":"io.x/template","version":"1","remotes":[{"type":"sse","url":"https://{tenant}.example.com/mcp"}]}`
	servers["io.x/argument"] = strings.NewReplacer("io.x/files", "io.x/argument", `"valueHint":"optional"`, `"valueHint":"path","isRequired":true`).Replace(servers["io.x/files"])
	servers["io.x/range"] = strings.NewReplacer("io.x/files", "io.x/range", `"1.0.0"`, `"^1"`).Replace(servers["io.x/files"])
	servers["io.x/elsewhere"] = strings.NewReplacer("io.x/files", "io.x/elsewhere", "https://registry.npmjs.org", "https://evil.example").Replace(servers["io.x/files"])
	servers["io.x/other-name"] = servers["io.x/files"]
	servers["io.x/unchecked"] = strings.NewReplacer("io.x/bundle", "io.x/unchecked", hexSum(bundle), "").Replace(servers["io.x/bundle"])
	f := fetcher(t)
	f.Registry, f.MCPRegistry = npm.URL, server.URL

	out, p, err := readPackage(t, f, "mcp:io.x/files", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest.Stdio{Command: "node", Args: []string{"${PLUGIN_ROOT}/node_modules/@o/files/dist/main.js", "run", "--level", "low"}, Env: map[string]string{"MODE": "safe"}}
	if diff := cmp.Diff(want, p.Servers["files"].Stdio); diff != "" || p.Description.Name != "files" || p.Description.Version != "1.2.0" {
		t.Errorf("%+v\n%s", p, diff)
	}
	if list := p.Description.Capabilities; len(list) != 1 || list[0].Name != "env" || list[0].Scope[0] != "API_KEY" {
		t.Errorf("capabilities %+v", list)
	}
	if _, err := os.Stat(filepath.Join(out.Path, "node_modules/dep/index.js")); err != nil || !out.Local || out.Packages == nil {
		t.Errorf("%+v, %v", out.Pin, err)
	}
	bundled, p, err := readPackage(t, f, "mcp:io.x/bundle@1", nil)
	if err != nil || bundled.Local || bundled.SHA256 != hexSum(bundle) || p.Servers["b"].Args[0] != "${PLUGIN_ROOT}/a.js" {
		t.Errorf("%+v, %+v, %v", bundled, p, err)
	}
	if _, p, err := readPackage(t, f, "mcp:io.x/remote", nil); err != nil || p.Servers["remote"].URL != "https://example.com/mcp" || p.Servers["remote"].Headers["X-A"] != "b" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, p, err := readPackage(t, f, "mcp:io.x/single", nil); err != nil || p.Servers["single"].Args[0] != "${PLUGIN_ROOT}/node_modules/single/cli.js" {
		t.Errorf("%+v, %v", p, err)
	}
	f.Offline = true // the pins have all that is needed
	for _, have := range []*source.Fetched{out, bundled} {
		if again, _, err := readPackage(t, f, have.Ref, &have.Pin); err != nil || !bytes.Equal(again.Server, have.Server) {
			t.Errorf("%s from its pin: %v", have.Ref, err)
		}
	}
	f.Offline = false
	for name, want := range map[string]error{
		"header": source.ErrServer, "python": source.ErrServer, "argument": source.ErrServer, "range": source.ErrServer, "elsewhere": source.ErrServer,
		"other-name": source.ErrMismatch, "unchecked": source.ErrServer, "missing": nil, "files@9": nil,
	} {
		if out, _, err := readPackage(t, f, "mcp:io.x/"+name, nil); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	for name, want := range map[string]string{
		"python": "it is pypi p; ", "cargo": "it is cargo crate; ", "template": "add it with tenon mcp add",
	} {
		if _, _, err := readPackage(t, f, "mcp:io.x/"+name, nil); !errors.Is(err, source.ErrServer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not installed: %v, want %q", name, err, want)
		}
	}
	pin := bundled.Pin
	pin.Server = json.RawMessage(strings.Replace(string(pin.Server), "/b.mcpb", "/c.mcpb", 1))
	if _, _, err := readPackage(t, f, "mcp:io.x/bundle@1", &pin); !errors.Is(err, source.ErrMismatch) {
		t.Errorf("another address: %v", err)
	}
	for name, change := range map[string]func(*source.Pin){"address": func(p *source.Pin) { p.URL = "" }, "description": func(p *source.Pin) { p.Server = nil }} {
		pin := bundled.Pin
		change(&pin)
		if _, _, err := readPackage(t, f, "mcp:io.x/bundle@1", &pin); !errors.Is(err, source.ErrMismatch) && !errors.Is(err, source.ErrRef) {
			t.Errorf("a pin without its %s: %v", name, err)
		}
	}
	// The package behind a server is judged before it is fetched.
	denied := errors.New("denied")
	f.Cache = t.TempDir()
	for _, ref := range []string{"mcp:io.x/files", "mcp:io.x/bundle"} {
		var judged []string
		f.Verify = func(_ context.Context, a *source.Artifact) (string, error) {
			judged = append(judged, a.Ref.Location())
			return "", denied
		}
		if _, _, err := readPackage(t, f, ref, nil); !errors.Is(err, denied) || len(judged) != 1 || judged[0] != "npm:@o/files" && judged[0] != server.URL+"/b.mcpb" {
			t.Errorf("%s: judged %q, %v", ref, judged, err)
		}
	}
	if have, err := bundled.Content(source.Ref{}); err != nil || have.URL != server.URL+"/b.mcpb" {
		t.Errorf("Content() = %+v, %v", have, err)
	}
	f.Verify = nil
	// An update for a repository downloads no bundle, whose host the user has not seen. The transport reaches the server of this test.
	f.Guarded, f.Transport = true, http.DefaultTransport
	if _, _, err := readPackage(t, f, "mcp:io.x/bundle@1", nil); !errors.Is(err, source.ErrAddress) {
		t.Errorf("a host that the user has not seen: %v", err)
	}
}

// TestBundle installs MCPB bundles, with and without a signature behind the zip.
func TestBundle(t *testing.T) {
	t.Parallel()
	text := `{"manifest_version":"0.3","name":"My Server!","version":"2.0.0","server":{"type":"binary","entry_point":"bin/s","mcp_config":{
		"command":"${__dirname}/bin/s","args":["--dir","${user_config.dir}","${user_config.maybe}","-v"],"env":{"KEY":"${user_config.key}","LEVEL":"${user_config.level}","NOT":"${user_config.maybe}x"}}},
		"user_config":{"key":{"type":"string","sensitive":true,"required":true},"level":{"type":"number","default":10485760},"dir":{"default":"/data","required":true},"maybe":{}}}`
	data := zipped(t, map[string]string{"manifest.json": text, "bin/s": "#!/bin/sh\n"})
	block := "MCPB_SIG_V1\x03\x00\x00\x00abcMCPB_SIG_END"
	declared := bytes.Clone(data)
	binary.LittleEndian.PutUint16(declared[len(declared)-2:], uint16(len(block)))
	for name, content := range map[string][]byte{"plain": data, "signed": append(bytes.Clone(data), block...), "signed as a comment": append(declared, block...)} {
		path := filepath.Join(t.TempDir(), "x.mcpb")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		out, p, err := readPackage(t, fetcher(t), path, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := p.Servers["my-server"]
		want := manifest.Stdio{Command: "./bin/s", Args: []string{"--dir", "/data", "-v"}, Env: map[string]string{"LEVEL": "10485760"}}
		if diff := cmp.Diff(want, s.Stdio); diff != "" || out.Local || !maps.Equal(map[string]bool{p.Description.Capabilities[0].Scope[0]: true}, map[string]bool{"KEY": true}) {
			t.Errorf("%s: %+v\n%s", name, p, diff)
		}
	}
	for name, content := range map[string][]byte{
		"no manifest": zipped(t, map[string]string{"a": "b"}), "a comment": append(declared, strings.Repeat("x", len(block))...),
		"required in an argument": zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","args":["${user_config.a}"]}},"user_config":{"a":{"required":true}}}`}),
		"required, no elements":   zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","args":["${user_config.a}"]}},"user_config":{"a":{"required":true,"default":[]}}}`}),
		"a list in a text":        zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","args":["-d ${user_config.a}"]}},"user_config":{"a":{"required":true,"default":["b","c"]}}}`}),
		"a setting in a default":  zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","args":["${user_config.a}"]}},"user_config":{"a":{"default":"${user_config.a}"}}}`}),
		"required before another": zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","args":["${user_config.a}:${user_config.b}"]}},"user_config":{"a":{"required":true},"b":{}}}`}),
		"required in a variable":  zipped(t, map[string]string{"manifest.json": `{"name":"a","server":{"mcp_config":{"command":"node","env":{"A":"x ${user_config.a}"}}},"user_config":{"a":{"required":true}}}`}),
		"no command":              zipped(t, map[string]string{"manifest.json": `{"name":"a"}`}),
		"no name":                 zipped(t, map[string]string{"manifest.json": `{"server":{"mcp_config":{"command":"node"}}}`}),
	} {
		path := filepath.Join(t.TempDir(), "x.mcpb")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, files, err := fetch(t, fetcher(t), path, nil); err == nil {
			t.Errorf("%s: %v", name, files)
		}
	}
	path := filepath.Join(t.TempDir(), "x.mcpb")
	files := zipped(t, map[string]string{"manifest.json": `{"name":"a","version":"1","server":{"mcp_config":{"command":"bin/s","args":["${user_config.dirs}","${user_config.log}","-v"]}},
		"user_config":{"dirs":{"type":"directory","multiple":true,"required":true,"default":["${HOME}/code","${DOCUMENTS}"]},"log":{"default":"${__dirname}/log"}}}`, "bin/s": "#!/bin/sh\n"})
	if err := os.WriteFile(path, files, 0o600); err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	out, p, err := readPackage(t, fetcher(t), path, nil)
	if err != nil || !out.Local {
		t.Fatalf("%+v, %v: the content depends on the machine", out, err)
	}
	want := manifest.Stdio{Command: "./bin/s", Args: []string{home + "/code", filepath.Join(home, "Documents"), "${PLUGIN_ROOT}/log", "-v"}, Env: map[string]string{}}
	if diff := cmp.Diff(want, p.Servers["a"].Stdio); diff != "" {
		t.Error(diff)
	}
	system := map[string]string{"windows": "win32"}[runtime.GOOS]
	if system == "" {
		system = runtime.GOOS
	}
	path = filepath.Join(t.TempDir(), "x.mcpb")
	own := zipped(t, map[string]string{"manifest.json": `{"name":"a","version":"1","server":{"mcp_config":{"command":"node","env":{"A":"a","B":"b"},"platform_overrides":{"` + system + `":{"command":"deno","args":["${__dirname}${/}a.js"],"env":{"A":"b"}}}}}}`})
	if err := os.WriteFile(path, own, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, p, err := readPackage(t, fetcher(t), path, nil); err != nil || !out.Local || p.Servers["a"].Command != "deno" || p.Servers["a"].Args[0] != "${PLUGIN_ROOT}/a.js" || !maps.Equal(p.Servers["a"].Env, map[string]string{"A": "b", "B": "b"}) {
		t.Errorf("%+v, %+v, %v", out, p, err)
	}
}

// FuzzServer: a description from a registry is an error, or the same when it is pinned and read again.
func FuzzServer(f *testing.F) {
	f.Add([]byte(`{"server":{"name":"a/b","version":"1","packages":[{"registryType":"npm","transport":{"type":"stdio"}}]}}`))
	f.Add([]byte(`{"name":"a/b","version":"1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := source.DecodeServer(data)
		if err != nil {
			return
		}
		if second, err := source.DecodeServer(first); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s\n%s: %v", first, second, err)
		}
	})
}

// FuzzBundle: a bundle's manifest is an error, or has a command and no variable of the bundle.
func FuzzBundle(f *testing.F) {
	f.Add([]byte(`{"server":{"mcp_config":{"command":"${__dirname}/a","args":["${user_config.x}"],"platform_overrides":{"linux":{}}}},"user_config":{"x":{"default":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		command, err := source.DecodeBundle(data)
		if err != nil && !errors.Is(err, source.ErrServer) || err == nil && (command == "" || strings.Contains(command, "${__dirname}")) {
			t.Errorf("%q, %v", command, err)
		}
	})
}
