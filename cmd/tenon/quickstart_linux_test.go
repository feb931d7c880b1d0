package main_test

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// TestQuickStart types the commands of "In four commands" on a terminal, in a fresh home. The provider, the repository of the plugin and the
// registry with the MCP server are on this machine; the server is the real one.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("npx installs a server")
	}
	commands := quickStart(t)
	s := fakellm.New(t, responses("It is a project.", ""), responses("", "files_list_allowed_directories"), responses("Done.", ""))
	isTitle := func(r fakellm.Request) bool { return len(r.Tools()) == 0 }
	s.Route(isTitle, responses("A title", ""))
	registry := sourcetest.NewNPM(t)
	registry.AddTree(t, filepath.Join("..", "..", "mcp", "testdata", "npm"), "@modelcontextprotocol/server-filesystem")

	p := newProcess(t, "")
	home := t.TempDir()
	p.env = []string{"HOME=" + home, "TERM=xterm", "PATH=" + filepath.Dir(p.binary) + string(os.PathListSeparator) + os.Getenv("PATH"), leaveAtOnce, rareCollection, "OPENAI_BASE_URL=" + s.URL()}
	must(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry="+registry.URL+"\nupdate-notifier=false\naudit=false\nfund=false\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[url \""+pluginRepository(t)+"\"]\n\tinsteadOf = https://github.com/obra/superpowers\n"), 0o600))

	fill := exec.CommandContext(t.Context(), "npx", "-y", "--package=@modelcontextprotocol/server-filesystem", "--", "true") // npm has no part in the limit of time
	fill.Dir, fill.Env = p.work, p.env
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("npx: %v\n%s", err, out)
	}
	typed := []func(x *terminal){
		func(x *terminal) {
			x.expect("sign-in method (a number or an ID): ")
			x.enter("1\n")
			x.expect("key of openai (not shown): ")
			x.enter("sk-test\n")
			x.expect("tested: openai lists 1 model")
		},
		func(x *terminal) { x.expect("It is a project.") },
		func(x *terminal) {
			x.expect("[y/N] ")
			x.enter("y\n")
			x.expect("installed superpowers")
		},
		func(x *terminal) { x.expect("list_allowed_directories") },
	}
	if len(commands) != len(typed) {
		t.Fatalf("the quick start has %d commands, want four: %q", len(commands), commands)
	}
	program := p.binary
	p.binary = "/bin/sh"
	for i, command := range commands {
		x := p.onTerminalOf(t, 50, 200, nil, "-c", command)
		typed[i](x)
		if code := x.code(); code != 0 {
			t.Fatalf("%s: exit code %d", command, code)
		}
	}
	p.binary = program
	p.output(t, 0, "run", "--auto", "which directories?")
	turns := slices.DeleteFunc(s.Requests(), isTitle)
	last := string(turns[len(turns)-1].Raw)
	if !strings.Contains(last, "Allowed directories") || !strings.Contains(last, "brainstorming") {
		t.Errorf("the server or the plugin took no part: %s", last)
	}
}

// responses is an answer of OpenAI's Responses with text, or with a call of a tool without arguments.
func responses(text, tool string) fakellm.Reply {
	event := func(kind, fields string) string {
		return fmt.Sprintf("data: {\"type\":\"response.%s\",%s}\n\n", kind, fields)
	}
	answer := event("output_text.delta", fmt.Sprintf(`"output_index":0,"delta":%q`, text))
	if tool != "" {
		answer = event("output_item.done", fmt.Sprintf(`"output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":%q,"arguments":"{}"}`, tool))
	}
	return fakellm.Raw(answer + event("completed", `"response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":4}}`))
}

// quickStart returns the commands of the page's section, without their comments.
func quickStart(t *testing.T) (commands []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "quickstart.md"))
	must(t, err)
	_, section, _ := strings.Cut(string(page), "## In four commands\n")
	block := pageBlock.FindStringSubmatch(section)
	if block == nil || block[1] != "console" {
		t.Fatalf("the quick start has no commands: %q", section)
	}
	for line := range strings.Lines(block[2]) {
		commands = append(commands, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
	}
	return commands
}

// pluginRepository serves a repository with a plugin over HTTP, and returns its address.
func pluginRepository(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	work := filepath.Join(top, "plugin")
	for name, text := range map[string]string{
		".claude-plugin/plugin.json":    `{"name": "superpowers", "version": "1.0.0", "description": "Skills for planning"}`,
		"skills/brainstorming/SKILL.md": "---\nname: brainstorming\ndescription: Finds out what the user wants\n---\nAsk.\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(work, name), []byte(text), 0o600))
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", work, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = slices.Concat(os.Environ(), []string{"HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"})
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	backend := &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + top},
	}
	server := httptest.NewServer(http.Handler(backend))
	t.Cleanup(server.Close)
	return server.URL + "/plugin/.git"
}
