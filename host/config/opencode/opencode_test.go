package opencode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/config/opencode"
	"github.com/tenonhq/tenon/sdk"
)

const file = `{
  "$schema": "https://opencode.ai/config.json",
  // the big one
  "model": "anthropic/claude", "small_model": "haiku",
  "plugin": ["x"], "theme": "dark", "future": 1, "hooks": {"x": 1},
  "instructions": ["docs/*.md", "https://example.com/rules"],
  "permission": {"bash": {"*": "ask", "git *": "allow"}, "edit": "deny"},
  "provider": {
    "local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:1/v1", "custom": {"a": 1}},
      "models": {"m": {"limit": {"context": 1000, "output": 100}, "release_date": "2025-01-01"}}},
    "other": {"npm": "gitlab-ai-provider", "options": {"apiKey": "{env:KEY}"}}
  },
  "mcp": {"files": {"type": "local", "command": ["x"], "enabled": false, "hooks": []}},
  "agent": {"build": {"maxSteps": 5, "reasoningEffort": "high", "mode": "sideways"}, "plan": {"prompt": "loses", "steps": 3, "permission": {"bash": "allow", "edit": "deny"}}},
  "mode": {"docs": {"prompt": "write docs"}, "plan": {"prompt": "wins", "mode": "subagent", "permission": {"bash": "ask"}}},
  "command": {"test": {"template": "run $ARGUMENTS"}},
  "skills": {"paths": ["s"], "urls": ["https://x"]},
  "compaction": {"auto": "yes"},
  "lsp": false
}`

func translate(t *testing.T, text string) *config.Translation {
	t.Helper()
	r, err := opencode.Translate(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// load reads the translation as tenon does.
func load(t *testing.T, r *config.Translation) *config.Loaded {
	t.Helper()
	l, err := config.Load(t.Context(), config.Options{
		Directory: t.TempDir(), Home: t.TempDir(), Environ: []string{"KEY=secret-key", "TENON_CONFIG_CONTENT=" + string(r.Config)},
	})
	if err != nil {
		t.Fatalf("the translation cannot be read: %v\n%s", err, r.Config)
	}
	return l
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	r := translate(t, file)
	l := load(t, r)
	if len(l.Warnings) > 0 {
		t.Errorf("the translation has warnings: %v", l.Warnings)
	}
	c := l.Config
	if c.Model != "anthropic/claude" || c.SmallModel != "" || c.Provider["local"].Protocol != "openai-chat" || c.Provider["other"].Options.APIKey != "secret-key" {
		t.Errorf("models and providers: %+v", c)
	}
	if a := c.Agent["build"]; a.MaxSteps != 5 || a.Options["reasoningEffort"] != "high" || a.Prompt != "" {
		t.Errorf("agent build = %+v", a)
	}
	if a := c.Agent["plan"]; a.Mode != sdk.ModePrimary || a.Prompt != "wins" || a.Steps != 3 {
		t.Errorf("agent plan = %+v", a)
	} else if len(a.Permission) != 2 || a.Permission[0].Action != sdk.ActionAsk || a.Permission[1].Action != sdk.ActionDeny {
		t.Errorf("permissions of plan = %+v, want the mode's ask before the agent's deny", a.Permission)
	}
	if a := c.Agent["docs"]; a.Mode != sdk.ModePrimary || a.Prompt != "write docs" {
		t.Errorf("agent docs = %+v", a)
	}
	var rules []string
	for _, rule := range c.Permission {
		rules = append(rules, rule.Permission+" "+rule.Pattern+" "+string(rule.Action))
	}
	if d := cmp.Diff([]string{"bash * ask", "bash git * allow", "edit * deny"}, rules); d != "" {
		t.Errorf("rules (-want +got):\n%s", d)
	}
	if !strings.Contains(string(r.Config), "// the big one") {
		t.Error("comments are lost")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	var got []string
	for _, n := range translate(t, file).Notes {
		head, _, _ := strings.Cut(n.String(), ": not imported")
		got = append(got, head)
	}
	want := []string{
		"line 2: $schema", "line 4: small_model", "line 5: future", "line 5: hooks", "line 5: plugin", "line 5: theme",
		"line 6: instructions[1]", "line 11: provider.other.npm",
		"line 13: mcp.files.hooks", "line 14: agent.build.mode", "line 17: skills.urls", "line 18: compaction.auto", "line 19: lsp",
	}
	if len(got) == 0 || !strings.Contains(got[len(got)-1], "tenon asks unless a rule allows it") {
		t.Fatalf("the last note does not tell how defaults differ: %q", got)
	}
	if d := cmp.Diff(want, got[:len(got)-1]); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
}

// TestByteOrderMark reads a file as editors on Windows write it: beginning with a mark.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(translate(t, file), translate(t, "\ufeff"+file)); d != "" {
		t.Errorf("with a byte order mark (-without +with):\n%s", d)
	}
}

// The translation leaves out and names the values that tenon would refuse to read.
func TestInvalidValues(t *testing.T) {
	t.Parallel()
	r := translate(t, `{
  "permission": {"bash": {"*": "maybe", "git *": "allow"}, "edit": "sometimes", "webfetch": 3, "read": {"*": {"x": "ask"}}},
  "mcp": {
    "kind": {"type": "weird", "command": ["x"]},
    "empty": {"type": "local", "command": []},
    "nowhere": {"type": "remote", "oauth": {/* none */}},
    "wait": {"type": "local", "command": ["x"], "timeout": -5},
    "off": {"enabled": false}
  },
  "agent": {"build": {"permission": {"bash": "nope"}}, "plan": {"permission": "never"}}
}`)
	c := load(t, r).Config
	if len(c.Permission) != 1 || c.Permission[0].Pattern != "git *" || len(c.MCP) != 2 || len(c.MCP["wait"].Command) != 1 || len(c.Agent["plan"].Permission) != 0 {
		t.Errorf("what remains: %+v", c)
	}
	var got []string
	for _, n := range r.Notes[:len(r.Notes)-1] {
		got = append(got, n.String())
	}
	action := `: not imported: want one of allow, ask, deny, have `
	want := []string{
		`line 2: permission.bash.*` + action + `"maybe"`, `line 2: permission.edit` + action + `"sometimes"`,
		`line 2: permission.webfetch: not imported: want an action (allow, ask or deny), have 3`,
		`line 2: permission.read.*: not imported: want an action (allow, ask or deny), have an object`,
		`line 4: mcp.kind.type: not imported: want one of local, remote, have "weird"`, `line 4: mcp.kind: not imported: has no type`, `line 5: mcp.empty: not imported: a local server needs command`,
		`line 6: mcp.nowhere: not imported: a remote server needs url`, `line 7: mcp.wait.timeout: not imported: want 0 or more, have -5`,
		`line 10: agent.build.permission.bash` + action + `"nope"`, `line 10: agent.plan.permission` + action + `"never"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
}

// References stay: their values are those of the machine on which the translation is read.
func TestReferences(t *testing.T) {
	t.Parallel()
	r := translate(t, `{"model": "{env:MODEL}", "provider": {"p": {"options": {"apiKey": "{file:~/none}"}}}, "logLevel": "{env:LEVEL}", "theme": "x"}`)
	for _, kept := range []string{"{env:MODEL}", "{file:~/none}", "{env:LEVEL}"} {
		if !strings.Contains(string(r.Config), kept) {
			t.Errorf("%s is lost:\n%s", kept, r.Config)
		}
	}
}

// TestReferencesToSettings: a reference to a variable that configures tenon does not change how the text is read.
func TestReferencesToSettings(t *testing.T) {
	t.Parallel()
	r := translate(t, `{"agent": {"a": {"prompt": "{env:TENON_PERMISSION}{env:TENON_CONFIG}"}}, "theme": "x"}`)
	if len(r.Notes) != 2 || r.Notes[0].Key != "theme" || !strings.Contains(string(r.Config), "{env:TENON_PERMISSION}{env:TENON_CONFIG}") {
		t.Errorf("Translate = %s with notes %+v", r.Config, r.Notes)
	}
}

// TestManyKeys: a file with more problems than an error shows does not take longer for each of them.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 9_000 {
		fmt.Fprintf(&text, "\"unknown%d\": 1,\n", i)
	}
	begin := time.Now()
	r := translate(t, "{"+text.String()+"}")
	if took := time.Since(begin); took > 10*time.Second || len(r.Notes) != 9_001 {
		t.Errorf("%d notes in %v", len(r.Notes), took)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{", "list": "[]", "not UTF-8": "{\"a\": \"\xff\"}", "deep": strings.Repeat("[", 30_000), "large": strings.Repeat(" ", 2<<20),
	} {
		if _, err := opencode.Translate(t.Context(), []byte(text)); !errors.Is(err, opencode.ErrSyntax) {
			t.Errorf("%s: Translate = %v, want ErrSyntax", name, err)
		}
	}
}

// The output is JSON that can be translated again without further changes.
func FuzzTranslate(f *testing.F) {
	f.Add(file)
	f.Add(`{"agent": [], "mode": {"x": 1}, "provider": {"a": {"npm": 1, "models": null}}}`)
	f.Add(`{"permission": {"bash": {"*": "x"}, "edit": 1}, "mcp": {"a": {"type": "x", "url": "y"}, "b": {"command": [1]}}}`)
	f.Add(`{"a": 1, "a": 2, "mode": {}, "agent": {"": {"x": {}}},}`)
	f.Fuzz(func(t *testing.T, text string) {
		first, err := opencode.Translate(t.Context(), []byte(text))
		if err != nil {
			if !errors.Is(err, opencode.ErrSyntax) {
				t.Errorf("Translate = %v", err)
			}
			return
		}
		again, err := opencode.Translate(t.Context(), first.Config)
		if err != nil {
			t.Fatalf("the translation cannot be read: %v\n%s", err, first.Config)
		}
		for _, n := range again.Notes {
			if n.Key != "" && !strings.HasSuffix(n.Key, ".protocol") {
				t.Errorf("a second translation takes out %s\n%s", n, first.Config)
			}
		}
	})
}
