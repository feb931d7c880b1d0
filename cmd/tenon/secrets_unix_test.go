//go:build unix

package main_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// canary finds the secrets of TestSecretsStayInside.
var canary = regexp.MustCompile(`CANARY-[A-Z]+-[0-9]+`)

// TestSecretsStayInside puts a secret of its own into every place that can hold one, has providers and servers repeat what they were
// sent, and looks through all that tenon prints, logs, keeps and exports.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusUnauthorized
		if strings.HasPrefix(r.URL.Path, "/b") {
			status = http.StatusBadRequest
		}
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error": {"message": "wrong key %s, header %s %s, at %s"}}`, r.Header.Get("Authorization"), r.Header.Get("X-File"), r.Header.Get("X-Written"), r.URL)
	}))
	t.Cleanup(echo.Close)
	p := newProcess(t, echo.URL)
	home := strings.TrimPrefix(p.env[0], "HOME=")
	address := strings.TrimPrefix(echo.URL, "http://")
	lay := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay(filepath.Join(home, ".config", "tenon", "key"), "CANARY-FILE-1\n")
	lay(filepath.Join(home, ".config", "tenon", "tenon.json"), strings.ReplaceAll(`{
  "model": "acme/m",
  "provider": {
    "acme": {
      "protocol": "openai-chat", "models": {"m": {}},
      "options": {
        "baseURL": "http://user:CANARY-USERINFO-1@ADDRESS/a?token=CANARY-QUERY-1", "apiKey": "{env:ACME}",
        "headers": {"X-File": "{file:key}", "X-Written": "CANARY-HEADER-1"}
      }
    },
    "beta": {"protocol": "openai-chat", "models": {"m": {}}, "options": {"baseURL": "http://ADDRESS/b", "apiKey": "CANARY-WRITTEN-1"}}
  },
  "mcp": {
    "far": {"type": "remote", "url": "http://u:CANARY-SERVERUSER-1@ADDRESS/s?api_key=CANARY-SERVERQUERY-1", "headers": {"Authorization": "Bearer CANARY-SERVERHEADER-1"}},
    "near": {"type": "local", "command": ["sh", "-c", "echo \"wrong $K\" >&2; echo $K; exit 1"], "environment": {"K": "CANARY-ENVIRONMENT-1"}},
    "named": {"type": "local", "command": ["sh", "-c", "echo \"wrong $0 $1\" >&2; exit 1", "--token=CANARY-ARGUMENT-1", "--url=http://h/?key=CANARY-ARGUMENT-2"]}
  },
  "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "cat \"$HOME/.config/tenon/tenon.json\" >&2; echo $ACME; exit 1"}]}]}
}`, "ADDRESS", address))
	lay(filepath.Join(home, ".config", "tenon", "mcp.json"), `{"mcpServers": {"kept": {"command": "sh", "args": ["-c", "echo wrong $K $0 >&2; exit 1", "--password=CANARY-KEPT-1"], "env": {"K": "CANARY-KEPT-2"}}}}`)
	p.env = append(p.env[:len(p.env)-1], "ACME=CANARY-VARIABLE-1", "OPENAI_API_KEY=CANARY-PROVIDER-1", "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))

	seen := strings.Builder{}
	for _, args := range [][]string{
		{"run", "--log-level", "debug", "hello"}, {"run", "--log-level", "debug", "--format", "json", "hello"}, {"run", "--log-level", "debug", "-m", "beta/m", "hello"},
		{"run", "--log-level", "debug", "-m", "beta/m", "--format", "json", "hello"},
		{"config", "show"}, {"config", "show", "--format", "json"}, {"config", "check"}, {"doctor"}, {"models"}, {"hooks"}, {"plugin", "list"},
		{"mcp", "list"}, {"mcp", "list", "--format", "json"}, {"mcp", "tools", "far"}, {"mcp", "tools", "near"}, {"mcp", "tools", "named"}, {"mcp", "tools", "kept"},
		{"mcp", "logs", "near"}, {"mcp", "logs", "named"}, {"mcp", "logs", "kept"},
		{"session", "list"}, {"session", "list", "--format", "json"}, {"explain"}, {"explain", "--format", "json"}, {"permission", "explain", "bash ls"}, {"stats"},
	} {
		out, errs := p.any(t, args...)
		fmt.Fprintf(&seen, "== tenon %q\n%s%s", args, out, errs)
	}
	list, _ := p.any(t, "session", "list", "--format", "json")
	for _, id := range regexp.MustCompile(`ses_\w+`).FindAllString(list, -1) {
		for _, args := range [][]string{{"session", "export", id}, {"session", "show", id}} {
			out, errs := p.any(t, args...)
			fmt.Fprintf(&seen, "== tenon %q\n%s%s", args, out, errs)
		}
	}
	for _, said := range []string{"wrong key", "provider.acme.options.apiKey", `"--token=***"`, "wrong ***", "== tenon [\"session\" \"export\" \"ses_"} {
		if !strings.Contains(seen.String(), said) {
			t.Errorf("%q was not said: nothing is shown by this test\n%s", said, seen.String())
		}
	}
	for _, line := range strings.Split(seen.String(), "\n") {
		if strings.HasPrefix(line, "== ") {
			continue
		}
		if found := canary.FindString(line); found != "" {
			t.Errorf("%s is printed: %s", found, line)
		}
	}
	kept := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(home, ".config")) {
			return err
		}
		kept++
		data, err := os.ReadFile(path)
		if found := canary.Find(data); found != nil {
			t.Errorf("%s is kept in %s", found, path)
		}
		return err
	})
	if err != nil || kept == 0 {
		t.Errorf("%d files are kept: %v", kept, err)
	}
}

// TestSecretsInMistakes checks that errors next to a secret do not contain it.
func TestSecretsInMistakes(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "http://127.0.0.1:1")
	p.env = p.env[:len(p.env)-1]
	for _, text := range []string{
		`{"provider": {"a": {"options": {"apiKey": "CANARY-MISTAKE-1" "x"}}}}`, `{"provider": {"a": {"options": {"apiKey": "CANARY-MISTAKE-2`,
		`{"provider": {"a": {"options": {"apiKey": CANARY-MISTAKE-3}}}}`, `{"provider": {"a": {"options": {"apiKey": ["CANARY-MISTAKE-4"]}}}}`,
		`{"provider": {"a": {"options": {"headers": "CANARY-MISTAKE-5"}}}}`, `{"provider": {"a": {"options": {"timeout": "CANARY-MISTAKE-6"}}}}`,
		`{"provider": {"a": {"options": {"apiKey": "CANARY-MISTAKE-7\q"}}}}`, `{'apiKey': 'CANARY-MISTAKE-8'}`, `{"mcp": {"a": {"url": "http://h/?key=CANARY-MISTAKE-9" "x"}}}`,
		`{"mcp": {"a": {"headers": {"X": {"y": "CANARY-MISTAKE-11"}}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(p.work, "tenon.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs := p.output(t, 3, "config", "check")
		if all := out + errs; canary.MatchString(all) || !strings.Contains(all, "tenon.json:1:") {
			t.Errorf("%s\ngives %s", text, all)
		}
	}
}

// any runs a command that may fail.
func (p *process) any(t *testing.T, args ...string) (string, string) {
	t.Helper()
	var out, errs strings.Builder
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // some have to fail
	return out.String(), errs.String()
}
