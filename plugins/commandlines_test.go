package plugins_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// TestCommandHookRights holds that the question names command hooks that can allow or rewrite tool calls.
func TestCommandHookRights(t *testing.T) {
	t.Parallel()
	for event, full := range map[string]bool{"PreToolUse": true, "PermissionRequest": true, "PostToolUse": false, "SessionStart": false} {
		lines, err := plugins.CommandHookLines([]byte(`{"hooks": {"` + event + `": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}, {"hooks": [{"type": "command", "command": "check"}]}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		plugins.RequestText(&b, trust.Request{CommandHooks: lines}, nil)
		if got := strings.Count(b.String(), "FULL RIGHTS"); full && got != len(lines) || !full && got > 0 {
			t.Errorf("%s:\n%s", event, b.String())
		}
	}
}
