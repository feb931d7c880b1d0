package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestionAboutCommands checks that the question about a project's server and command hooks says which hooks have full rights, which
// files count, and what does not.
func TestQuestionAboutCommands(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	config := `{"mcp": {"s": {"type": "local", "command": ["node", "./server"], "hooks": [
		{"tool": "t", "point": "permission.ask", "timeout": 500, "before": ["other"]}, {"tool": "u", "point": "shell.env", "writes": ["/env/STAGE", "/env/PATH"]}]}},
		"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh $(git rev-parse --show-toplevel)/guard.sh"}]}]}}`
	for name, content := range map[string]string{"tenon.json": config, "server.js": "1", "guard.sh": "1"} {
		must(t, os.WriteFile(filepath.Join(p.work, name), []byte(content), 0o644))
	}
	for name, want := range map[string][]string{
		"s": {
			"if it fails or takes longer than 500ms, it denies; before other", "FULL RIGHTS: it can run commands: calls it allows run without asking you",
			"FULL RIGHTS: it can run commands: each command runs with the variables that it sets: STAGE, PATH (refused: programs run code that it names)",
			"approved with  server.js\n", "NOT covered    files that they reach in other ways",
		},
		"hooks.project": {"approved with  guard.sh\n", "NOT covered    files that they reach in other ways"},
	} {
		out, _ := p.output(t, 0, "plugin", "info", name)
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("the question about %s has no %q:\n%s", name, line, out)
			}
		}
	}
}
