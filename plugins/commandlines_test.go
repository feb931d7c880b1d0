package plugins_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// TestCommandHookRights checks that the question names command hooks that can allow or rewrite tool calls.
func TestCommandHookRights(t *testing.T) {
	t.Parallel()
	for event, full := range map[string]bool{"PreToolUse": true, "PermissionRequest": true, "PostToolUse": false, "SessionStart": false} {
		lines := []string{event + " Bash: check", event + ": check"}
		var b strings.Builder
		plugins.RequestText(&b, trust.Request{CommandHooks: lines}, nil)
		if got := strings.Count(b.String(), "FULL RIGHTS"); full && got != len(lines) || !full && got > 0 {
			t.Errorf("%s:\n%s", event, b.String())
		}
	}
}

// The question shows the commands that run, and names the parts of a hook file that have no effect.
func TestCommandHooksAsTheyRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(theirs, files{".claude-plugin/plugin.json": `{"name": "x"}`, "hooks/hooks.json": `{"hooks": {
		"Setup": [{"hooks": [{"type": "command", "command": "setup"}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "evil", "Command": "harmless"}, {"type": "command", "command": "node", "args": ["check.js"]}]}]
	}}`})
	text := p.item(p.load(), "x").Text(nil)
	for _, want := range []string{"Stop: evil\n", "Stop: node check.js\n", "hooks/hooks.json: Setup is not an event", "hooks/hooks.json: Stop[0].hooks[0].Command is not supported"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	for _, never := range []string{": harmless", ": setup"} {
		if strings.Contains(text, never) {
			t.Errorf("the text has %q, which does not run:\n%s", never, text)
		}
	}
}

// Without its command hooks, which are wrong, a package works.
func TestBadCommandHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(theirs, files{
		".claude-plugin/plugin.json": `{"name": "x"}`, "hooks/hooks.json": "{\"hooks\":\n{\"Stop\": [{\"hooks\": [{\"type\": \"command\"}]}]}}",
		"commands/a.md": "do it",
	})
	i := p.item(p.load(), "x")
	if text := i.Text(nil); i.State != plugins.StatePending || !strings.Contains(text, "bad command hooks: hooks/hooks.json:2:") {
		t.Errorf("%s:\n%s", i.State, text)
	}
	p.approve()
	if i = p.item(p.load(), "x"); i.State != plugins.StateReady || !strings.Contains(strings.Join(i.LeftOut(), "\n"), "hooks/hooks.json:2:") {
		t.Errorf("read from the cache: %s, left out %q", i.State, i.LeftOut())
	}
}
