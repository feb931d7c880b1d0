package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// place is a directory tree with a user's and a project's files.
type place struct {
	t    testing.TB
	root string
	opts config.Options
}

// newPlace writes files, whose names are relative to home/, and starts tenon in home/project/sub.
func newPlace(t testing.TB, files map[string]string) *place {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	p := &place{t: t, root: home, opts: config.Options{
		Directory: filepath.Join(home, "project", "sub"),
		Worktree:  filepath.Join(home, "project"),
		Home:      home,
		ConfigDir: filepath.Join(home, ".config", "tenon"),
	}}
	if err := os.MkdirAll(p.opts.Directory, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

func (p *place) load() *config.Loaded {
	p.t.Helper()
	l, err := config.Load(p.t.Context(), p.opts)
	if err != nil {
		p.t.Fatalf("Load: %v", err)
	}
	return l
}

// inline loads one text as $TENON_CONFIG_CONTENT.
func inline(t testing.TB, text string, environ ...string) (*config.Loaded, error) {
	t.Helper()
	p := newPlace(t, nil)
	p.opts.Environ = append(environ, "TENON_CONFIG_CONTENT="+text)
	return config.Load(t.Context(), p.opts)
}

const (
	userFile    = ".config/tenon/tenon.json"
	outerFile   = "project/tenon.json"
	dotFile     = "project/.tenon/tenon.jsonc"
	nearestFile = "project/sub/tenon.json"
)

func TestLayersOverrideInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"tenon.json": `{"model": "above/worktree"}`})
	want := func(model, origin string) {
		t.Helper()
		l := p.load()
		if l.Config.Model != model || l.Origin("model") != origin {
			t.Errorf("model = %q from %q, want %q from %q", l.Config.Model, l.Origin("model"), model, origin)
		}
	}
	want("", "")
	for _, name := range []string{userFile, ".config/tenon/tenon.jsonc", outerFile, "project/tenon.jsonc", "project/.tenon/tenon.json",
		dotFile, nearestFile, "project/sub/.tenon/tenon.json"} {
		p.write(name, "{\n\"model\": \"a/"+name+"\"}")
		want("a/"+name, p.path(name)+":2")
	}
	p.write("extra.json", `{"model": "a/extra"}`)
	p.opts.Environ = []string{"TENON_CONFIG=../../extra.json"}
	want("a/extra", p.path("extra.json")+":1")
	p.opts.Environ = append(p.opts.Environ, `TENON_CONFIG_CONTENT={"model": "a/inline"}`)
	want("a/inline", "env TENON_CONFIG_CONTENT:1")
	p.opts.Environ = append(p.opts.Environ, "TENON_MODEL=a/shadowed", "TENON_MODEL=a/env")
	want("a/env", "env TENON_MODEL")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	l := newPlace(t, nil).load()
	got, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"logLevel":"warn","snapshot":true,"subagent_depth":1,` +
		`"tool_output":{"max_lines":2000,"max_bytes":51200},"compaction":{"auto":true},"retry":{"max":5,"delay_ms":2000}}`
	if string(got) != want {
		t.Errorf("defaults = %s\nwant %s", got, want)
	}
	if o := l.Origin("retry.delay_ms"); o != "default" {
		t.Errorf("origin = %q, want default", o)
	}
	if o := l.Origin("provider.x"); o != "" {
		t.Errorf("origin of an unset value = %q", o)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		outer, inner string
		pick         func(*sdk.Config) any
		want         string
	}{
		"objects merge key by key": {
			`{"provider": {"p": {"name": "P", "options": {"baseURL": "http://a", "headers": {"A": "1"}}}}}`,
			`{"provider": {"p": {"options": {"baseURL": "http://b", "headers": {"B": "2"}, "own": {"deep": [1]}}}}}`,
			func(c *sdk.Config) any { return c.Provider },
			`{"p":{"name":"P","options":{"baseURL":"http://b","headers":{"A":"1","B":"2"},"own":{"deep":[1]}}}}`,
		},
		"lists are replaced": {
			`{"disabled_providers": ["a", "b"]}`, `{"disabled_providers": ["c"]}`,
			func(c *sdk.Config) any { return c.DisabledProviders }, `["c"]`,
		},
		"instructions add up, each once": {
			`{"instructions": ["a.md", "b.md", "a.md"]}`, `{"instructions": ["c.md", "a.md"]}`,
			func(c *sdk.Config) any { return c.Instructions }, `["a.md","b.md","c.md"]`,
		},
		"plugins add up, the last options hold at the first place": {
			`{"plugins": [["one", {"a": 1}], "two"]}`, `{"plugins": ["three", {"path": "one", "options": {"b": 2}}]}`,
			func(c *sdk.Config) any { return c.Plugins },
			`[{"path":"one","options":{"b":2}},{"path":"two"},{"path":"three"}]`,
		},
		"dots in names do not separate": {
			`{"provider": {"p": {"models": {"gpt-4.1": {"name": "A"}}}}}`, `{"provider": {"p": {"models": {"gpt-4.1": {"id": "B"}, "gpt-4": {"id": "C"}}}}}`,
			func(c *sdk.Config) any { return c.Provider["p"].Models },
			`{"gpt-4":{"id":"C"},"gpt-4.1":{"id":"B","name":"A"}}`,
		},
		"false replaces an object": {
			`{"mcp": {"m": {"type": "remote", "url": "http://a", "oauth": {"clientId": "x"}}}}`, `{"mcp": {"m": {"oauth": false}}}`,
			func(c *sdk.Config) any { return c.MCP["m"].OAuth }, `false`,
		},
		"numbers keep their digits": {
			`{"provider": {"p": {"models": {"m": {"cost": {"input": 0.000001, "output": 1e2}, "options": {"seed": 12345678901234567890}}}}}}`, `{}`,
			func(c *sdk.Config) any { return c.Provider["p"].Models["m"] },
			`{"cost":{"input":0.000001,"output":100},"options":{"seed":12345678901234567890}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPlace(t, map[string]string{outerFile: tt.outer, nearestFile: tt.inner}).load()
			got, err := json.Marshal(tt.pick(l.Config))
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(tt.want), &b)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("merged %s (-want +got):\n%s", got, diff)
			}
		})
	}
}

func TestOriginsOfReplacedObjectsAreForgotten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		outerFile:   `{"mcp": {"m": {"type": "remote", "url": "http://a", "oauth": {"clientId": "x"}}}}`,
		nearestFile: "{\n\n\"mcp\": {\"m\": {\"oauth\": false}}}",
	})
	l := p.load()
	if got := l.Origin("mcp.m.oauth.clientId"); got != "" {
		t.Errorf("origin of a member that is gone = %q", got)
	}
	if got, want := l.Origin("mcp.m.oauth"), p.path(nearestFile)+":3"; got != want {
		t.Errorf("origin = %q, want %q", got, want)
	}
	if got, want := l.Origin("mcp.m.url"), p.path(outerFile)+":1"; got != want {
		t.Errorf("origin = %q, want %q", got, want)
	}
}

func TestPermissionRulesConcatenateInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile: "{\"permission\": \"ask\"}",
		outerFile: `{
  "tools": {"Write": false, "apply_patch": false, "zeta": true, "bash": false},
  "permission": {
    "bash": {
      "*": "ask",
      "git *": "allow", // last wins
      "git push*": "deny",
    },
    "alpha": "deny",
  },
}`,
		nearestFile: `{"permission": [{"permission": "edit", "pattern": "*.md", "action": "allow"}]}`,
	})
	p.opts.Environ = []string{`TENON_PERMISSION={"webfetch": "deny"}`}
	outer := p.path(outerFile)
	want := sdk.PermissionRules{
		{Permission: "*", Pattern: "*", Action: "ask", Origin: p.path(userFile) + ":1"},
		{Permission: "edit", Pattern: "*", Action: "deny", Origin: outer + ":2"},
		{Permission: "edit", Pattern: "*", Action: "deny", Origin: outer + ":2"},
		{Permission: "zeta", Pattern: "*", Action: "allow", Origin: outer + ":2"},
		{Permission: "bash", Pattern: "*", Action: "deny", Origin: outer + ":2"},
		{Permission: "bash", Pattern: "*", Action: "ask", Origin: outer + ":5"},
		{Permission: "bash", Pattern: "git *", Action: "allow", Origin: outer + ":6"},
		{Permission: "bash", Pattern: "git push*", Action: "deny", Origin: outer + ":7"},
		{Permission: "alpha", Pattern: "*", Action: "deny", Origin: outer + ":9"},
		{Permission: "edit", Pattern: "*.md", Action: "allow", Origin: p.path(nearestFile) + ":1"},
		{Permission: "webfetch", Pattern: "*", Action: "deny", Origin: "env TENON_PERMISSION"},
	}
	l := p.load()
	if diff := cmp.Diff(want, l.Config.Permission); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if l.Config.Tools != nil {
		t.Errorf("tools are still there: %v", l.Config.Tools)
	}
}

func TestPermissionVariableTakesAnAction(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.opts.Environ = []string{"TENON_PERMISSION=allow", "TENON_LOG_LEVEL=DEBUG", "TENON_SMALL_MODEL=a/b", "TENON_MODEL="}
	l := p.load()
	want := sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: "allow", Origin: "env TENON_PERMISSION"}}
	if diff := cmp.Diff(want, l.Config.Permission); diff != "" {
		t.Error(diff)
	}
	if l.Config.LogLevel != "debug" || l.Config.SmallModel != "a/b" || l.Config.Model != "" {
		t.Errorf("logLevel %q, small_model %q, model %q", l.Config.LogLevel, l.Config.SmallModel, l.Config.Model)
	}
}

func TestOlderForms(t *testing.T) {
	t.Parallel()
	l, err := inline(t, `{
  "agent": {"build": {"tools": {"bash": false}, "permission": {"bash": "ask"}}},
  "provider": {
    "a": {"npm": "@ai-sdk/openai-compatible", "api": "http://a/v1"},
    "b": {"npm": "@ai-sdk/openai", "api": "http://old", "options": {"baseURL": "http://new"}},
    "c": {"npm": "whatever", "protocol": "own"},
  },
}`)
	if err != nil {
		t.Fatal(err)
	}
	origin := func(line string) string { return "env TENON_CONFIG_CONTENT:" + line }
	agents := map[string]sdk.AgentConfig{
		"build": {Permission: sdk.PermissionRules{
			{Permission: "bash", Pattern: "*", Action: "deny", Origin: origin("2")},
			{Permission: "bash", Pattern: "*", Action: "ask", Origin: origin("2")},
		}},
	}
	if diff := cmp.Diff(agents, l.Config.Agent); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	providers := map[string]sdk.ProviderConfig{
		"a": {Protocol: "openai-chat", NPM: "@ai-sdk/openai-compatible", Options: sdk.ProviderOptions{BaseURL: "http://a/v1"}},
		"b": {Protocol: "openai-responses", NPM: "@ai-sdk/openai", Options: sdk.ProviderOptions{BaseURL: "http://new"}},
		"c": {Protocol: "own", NPM: "whatever"},
	}
	if diff := cmp.Diff(providers, l.Config.Provider); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"provider.a.protocol": origin("4"), "provider.a.options.baseURL": origin("4"), "provider.a.npm": origin("4"), "provider.a.api": "",
	} {
		if got := l.Origin(key); got != want {
			t.Errorf("origin of %s = %q, want %q", key, got, want)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile:                `{"provider": {"p": {"options": {"apiKey": "{file:~/key}", "baseURL": "http://{env:HOST}:{env:PORT}/", "own": ["{env:OTHER}"]}}}}`,
		"key":                   "  sk-1234567890\n",
		"project/prompts/a.txt": "be \"brief\"\nand kind\n",
		"project/more":          "sk-1234567890",
	})
	p.write(outerFile, strings.Replace(`{
  "agent": {"a": {"prompt": "{file:prompts/a.txt}\n{file:ABS}",
"description": "{env:MISSING}{no ref}{env:open"}},
  "username": "{env:NESTED}",
}`, "ABS", filepath.ToSlash(p.path("project/more")), 1))
	p.opts.Environ = []string{"HOST=example.com", "PORT=80", "NESTED={env:HOST}", "OTHER=own-secret-value"}
	l := p.load()
	options := l.Config.Provider["p"].Options
	if options.APIKey != "sk-1234567890" || options.BaseURL != "http://example.com:80/" {
		t.Errorf("options = %+v", options)
	}
	a := l.Config.Agent["a"]
	if want := "be \"brief\"\nand kind\nsk-1234567890"; a.Prompt != want {
		t.Errorf("prompt = %q, want %q", a.Prompt, want)
	}
	if want := "{no ref}{env:open"; a.Description != want {
		t.Errorf("description = %q, want %q", a.Description, want)
	}
	if l.Config.Username != "{env:HOST}" {
		t.Errorf("a value that was put in was read again: %q", l.Config.Username)
	}
	var warnings []string
	for _, w := range l.Warnings {
		warnings = append(warnings, w.String())
	}
	want := []string{filepath.FromSlash(p.path(outerFile)) + `:3:1: agent.a.description: environment variable "MISSING" is not set and counts as empty; set it, or write the value`}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A server that a nearer file disables needs no variables.
func TestVariablesOfDisabledServers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile:    `{"mcp": {"off": {"type": "local", "command": ["a", "{env:NONE}"]}, "off2": {"type": "local", "command": ["a", "{env:NONE}"]}}}`,
		nearestFile: `{"mcp": {"off": {"enabled": false}}}`,
	})
	if w := p.load().Warnings; len(w) != 1 || !strings.HasPrefix(w[0].Key, "mcp.off2.") {
		t.Errorf("warnings = %v, want one about mcp.off2", w)
	}
}

func TestPluginPathsAreRelativeToTheirFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile:  `{"plugins": ["./mine.wasm", "name", "~/home.wasm"]}`,
		outerFile: `{"plugins": [["../shared", {"x": 1}], "name"]}`,
	})
	p.opts.Environ = []string{`TENON_CONFIG_CONTENT={"plugins": ["./here.wasm"]}`}
	var got []string
	for _, plugin := range p.load().Config.Plugins {
		got = append(got, plugin.Path)
	}
	want := []string{p.path(".config/tenon/mine.wasm"), "name", p.path("home.wasm"), p.path("shared"), p.path("project/sub/here.wasm")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestFilesListsWhatWasRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{userFile: "", dotFile: "  \n", nearestFile: "\ufeff{}// done"})
	want := []string{p.path(userFile), p.path(dotFile), p.path(nearestFile)}
	if diff := cmp.Diff(want, p.load().Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestUserDirectoryInsideTheProjectIsReadOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"project/sub/tenon.json": `{"permission": "ask"}`})
	p.opts.ConfigDir = p.opts.Directory
	if got := len(p.load().Config.Permission); got != 1 {
		t.Errorf("%d rules, want 1", got)
	}
}
