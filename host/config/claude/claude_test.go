package claude_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/config/claude"
	"github.com/tenonhq/tenon/sdk"
)

const settings = `{
  "model": "claude-sonnet-4-5",
  // mine
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash", "Read(~/notes/**)", "Edit(src/**)", "Edit(docs/*.md)", "Edit(~/todo.md)", "Edit(~/todo/)", "Edit(./~/x/**)", "Edit(a/**/b)", "Edit(a/**b)", "Edit(a/**/)", "WebFetch(domain:go.dev)", "WebFetch(domain:go.*)", "mcp__github", "mcp__files__read", "Task(explore)", "WebSearch"],
    "ask": ["Bash(git push *)"],
    "deny": ["Read(./.env)", "Read(.netrc)", "Read(//etc/**)", "Bash(a?b)", "Bash(x"],
    "defaultMode": "acceptEdits",
    "additionalDirectories": ["../docs", "~/lib/"],
    "future": true
  },
  "env": {"TOKEN": "sk-secret"},
  "hooks": {
    // the first one is the best
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "args": ["a"], "timeout": 5}, {"type": "command", "command": "slow", /* very */ "async": true}]}],
  },
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "${PKG}"], "env": {"KEY": "${KEY}"} /* mine */},
    "web": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${T}"}},
    "odd": {"command": "${A:-b}"}
  },
  "statusLine": {"type": "command"}, "enabledPlugins": {"a@b": true},
  "unheardOf": 1
}`

const want = `{
  "model": "anthropic/claude-sonnet-4-5",
  "permission": [
    edit * allow
    external_directory ~/lib/* allow
    bash npm run test * allow
    bash * allow
    edit src/* allow
    external_directory ~/todo/* allow
    edit a/b allow
    edit a/*/b allow
    webfetch https://go.dev/* allow
    webfetch http://go.dev/* allow
    files_read * allow
    task explore allow
    bash git push * ask
    read .env deny
    read .env/* deny
    read */.env deny
    read */.env/* deny
    read .netrc deny
    read .netrc/* deny
    read */.netrc deny
    read */.netrc/* deny
    read /etc/* deny
    external_directory /etc/* deny
`

func TestTranslate(t *testing.T) {
	t.Parallel()
	r, err := claude.Translate([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(t.Context(), config.Options{
		Directory: t.TempDir(), Home: t.TempDir(), Environ: []string{"PKG=p", "KEY=k", "T=t", "TENON_CONFIG_CONTENT=" + string(r.Config)},
	})
	if err != nil {
		t.Fatalf("the translation cannot be read: %v\n%s", err, r.Config)
	}
	var got strings.Builder
	got.WriteString("{\n  \"model\": \"" + l.Config.Model + "\",\n  \"permission\": [\n")
	for _, p := range l.Config.Permission {
		got.WriteString("    " + p.Permission + " " + p.Pattern + " " + string(p.Action) + "\n")
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("translation (-want +got):\n%s", diff)
	}
	if s := l.Config.MCP["files"]; len(l.Config.MCP) != 2 || cmp.Diff(s.Command, []string{"npx", "-y", "p"}) != "" || s.Environment["KEY"] != "k" {
		t.Errorf("servers %+v", l.Config.MCP)
	}
	if h := l.HookBlocks(); len(h) != 1 || !strings.Contains(string(h[0].Data), `"args":["a"],"command":"check"`) || !strings.Contains(string(h[0].Data), `"command":"slow"`) {
		t.Errorf("hooks %s", h)
	}
	var notes strings.Builder
	for _, n := range r.Notes {
		notes.WriteString(n.String() + "\n")
	}
	for _, left := range []string{
		`line 5: permissions.allow: "WebSearch": not imported: tenon has no such tool`, `line 5: permissions.allow: "Edit(docs/*.md)": not imported`, `"Edit(~/todo.md)": not imported: tenon allows whole directories`, `"Edit(./~/x/**)": not imported`, `"Edit(a/**b)": not imported`, `"Edit(a/**/)": not imported`,
		`line 5: permissions.allow: "Read(~/notes/**)": not imported`, `line 7: permissions.deny: "Bash(a?b)": not imported`, `"Bash(x": not imported: the parenthesis`,
		`line 5: permissions.allow: "WebFetch(domain:go.*)": not imported: tenon would allow other hosts`, `line 5: permissions.allow: "mcp__github": not imported: a rule for github_*`, `line 9: permissions.additionalDirectories: "../docs": not imported`, "line 10: permissions.future: not imported", "line 12: env.TOKEN: not imported",
		"line 20: mcpServers.odd: not imported", "line 22: statusLine: not imported", "line 22: enabledPlugins: not imported: use tenon plugin", "line 23: unheardOf: not imported: tenon has no such setting",
	} {
		if !strings.Contains(notes.String(), left) {
			t.Errorf("no note %q in\n%s", left, notes.String())
		}
	}
	if strings.Contains(notes.String()+string(r.Config), "sk-secret") {
		t.Error("the value of a variable was copied")
	}
}

// TestDenials checks that everything denied there is denied here.
func TestDenials(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Read(**/.env)":              "read .env deny, read .env/* deny, read */.env deny, read */.env/* deny",
		"Read(./.env)":               "read .env deny, read .env/* deny, read */.env deny, read */.env/* deny",
		"Read(./src/x)":              "read src/x deny, read src/x/* deny",
		"Read(src/**/*.key)":         "read src/*.key deny, read src/*.key/* deny, read src/*/*.key deny, read src/*/*.key/* deny",
		"Read(/a/**/b/**/c*)":        "read a/b/c* deny, read a/*/b/c* deny, read a/b/*/c* deny, read a/*/b/*/c* deny",
		"Read(~/.ssh)":               "read ~/.ssh deny, read ~/.ssh/* deny, external_directory ~/.ssh/* deny",
		"Edit(~/.ssh/)":              "edit ~/.ssh/* deny, external_directory ~/.ssh/* deny",
		"Edit(//etc/hosts)":          "edit /etc/hosts deny, edit /etc/hosts/* deny, external_directory /etc/hosts/* deny",
		"Edit(~/note*)":              "edit ~/note* deny, external_directory ~/note*/* deny",
		"Read(//etc/**/key)":         "read /etc/key deny, read /etc/key/* deny, external_directory /etc/key/* deny, read /etc/*/key deny, read /etc/*/key/* deny, external_directory /etc/*/key/* deny",
		"Edit(//**)":                 "edit * deny, edit /* deny, external_directory /* deny",
		"Read(~/)":                   "read * deny, read ~/* deny, external_directory ~/* deny",
		"Read(//**/*.pem/)":          "read *.pem/* deny, read */*.pem/* deny, read /*.pem/* deny, external_directory /*.pem/* deny, read /*/*.pem/* deny, external_directory /*/*.pem/* deny",
		"Read(./../x)":               "",
		"Read(a/**/)":                "read a/* deny, read a/*/* deny",
		"Read(**/a/**/**/**/**/b)":   "",
		"Bash(/opt/x/*)":             "bash /opt/x/* deny",
		"Read(../x)":                 "",
		"Read(./*)":                  "read * deny",
		"Edit(/src/**)":              "edit src/* deny",
		"WebFetch(domain:x.example)": "webfetch https://x.example/* deny, webfetch http://x.example/* deny, webfetch https://x.example:* deny, webfetch http://x.example:* deny",
		"Read(/)":                    "",
		"mcp__github":                "github_* * deny",
		"Agent(Explore)":             "task explore deny",
		"Agent(general-purpose)":     "task general deny",
		"NotebookEdit":               "",
	} {
		r, err := claude.Translate([]byte(`{"permissions": {"deny": ["` + text + `"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		var out struct{ Permission sdk.PermissionRules }
		if err := json.Unmarshal(r.Config, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range out.Permission {
			got = append(got, p.Permission+" "+p.Pattern+" "+string(p.Action))
		}
		if strings.Join(got, ", ") != want || (want == "") != (len(r.Notes) > 0) {
			t.Errorf("%s: %q, %v; want %q", text, got, r.Notes, want)
		}
	}
}

// Edit and Write are two permissions there, and one here.
func TestAllowedEdits(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{`"Edit"`: 0, `"Write(*)"`: 0, `"Edit", "Write"`: 2, `"Edit(**)"`: 1, `"Write(**)"`: 0, `"Write(src/**)"`: 0} {
		r, err := claude.Translate([]byte(`{"permissions": {"allow": [` + list + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		var out struct{ Permission sdk.PermissionRules }
		if err := json.Unmarshal(r.Config, &out); err != nil {
			t.Fatal(err)
		}
		if len(out.Permission) != want || (want == 0) != (len(r.Notes) > 0) {
			t.Errorf("%s: %v, %v; want %d rules", list, out.Permission, r.Notes, want)
		}
	}
}

// TestByteOrderMark reads a file as editors on Windows write it.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	r, err := claude.Translate([]byte("\ufeff{\n// mine\n\"hooks\": {\n// the first\n\"Stop\": []},\n\"future\": 1}"))
	if err != nil || !strings.Contains(string(r.Config), `"Stop"`) || len(r.Notes) != 1 || r.Notes[0].Line != 6 {
		t.Errorf("Translate = %+v, %v", r, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	r, err := claude.Translate([]byte(`{"numStartups": 3, "projects": {"/x": {"history": [` + strings.Repeat(`"fix it",`, 50_000) + `]}}, "mcpServers": {"a": {"command": "b"}}}`))
	if err != nil || len(r.Notes) != 0 || !strings.Contains(string(r.Config), `"local"`) {
		t.Errorf("Translate = %+v, %v", r, err)
	}
}

func TestHooksOfAnotherKind(t *testing.T) {
	t.Parallel()
	r, err := claude.Translate([]byte(`{"hooks": []}`))
	if err != nil || len(r.Notes) != 1 || strings.Contains(string(r.Config), "hooks") {
		t.Errorf("Translate = %s, %v", r.Config, err)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[]", "{", `{"a": 1, "a": 2`} {
		if _, err := claude.Translate([]byte(text)); !errors.Is(err, claude.ErrSyntax) {
			t.Errorf("Translate(%q): %v", text, err)
		}
	}
}

// FuzzTranslate checks that each translation is a configuration, whatever the settings are.
func FuzzTranslate(f *testing.F) {
	f.Add(settings)
	f.Add(`{"permissions": {"deny": ["Read(/)"], "allow": "x"}, "hooks": {"Stop": [{"hooks": [{"type": "command", "timeout": true}]}]}, "mcpServers": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := claude.Translate([]byte(text))
		if err != nil {
			if !errors.Is(err, claude.ErrSyntax) {
				t.Errorf("Translate(%q): %v", text, err)
			}
			return
		}
		again, err := claude.Translate(r.Config)
		if err != nil || again == nil {
			t.Errorf("Translate(%q) = %s, which is not JSON: %v", text, r.Config, err)
		}
	})
}
