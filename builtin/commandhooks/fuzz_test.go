package commandhooks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/sdk"
)

// Every source is either refused with an error that names it, or becomes a plugin whose hooks fit their points.
func FuzzSource(f *testing.F) {
	f.Add(`{"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "ls", "timeout": 5}]}]}}`)
	f.Add(`{"SessionStart": [{"hooks": [{"type": "command", "command": "a"}]}], "Stop": [{"hooks": []}]}`)
	f.Add(`{"PreToolUse": [{"matcher": "(", "hooks": []}]}`)
	f.Add(`{"Stop": [{"hooks": [{"type": "command", "command": "a", "timeout": 1e-300}]}]}`)
	f.Add(`{"PreToolUse": [{"hooks": [{"type": "command", "command": "a", "args": ["b", 1], "if": "Bash(a\\u0000*:*"}]}]}`)
	f.Add(`{"a": 1}}`)
	f.Fuzz(func(t *testing.T, data string) {
		plugin, err := commandhooks.New(commandhooks.Source{Name: "p", Where: "f.json", Data: []byte(data)})
		if err != nil {
			if !errors.Is(err, commandhooks.ErrSource) || !strings.Contains(err.Error(), "f.json") {
				t.Errorf("New(%q) = %v", data, err)
			}
			return
		}
		names := map[string]bool{}
		for _, h := range plugin.Hooks() {
			key := string(h.Point) + " " + h.Name
			if h.Timeout < 0 || h.Timeout > sdk.MaxHookTimeout || h.Handler == nil || names[key] {
				t.Errorf("New(%q) has the hook %+v", data, h)
			}
			names[key] = true
		}
	})
}

// Whatever a command writes is an answer or an error.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"", "text", "{}", `{"continue": false, "stopReason": "x"}`, `{"decision": "block"}`, `{"hookSpecificOutput": {"hookEventName": "Stop", "updatedInput": {"a": 1}}}`,
		`{"hookSpecificOutput": {"decision": {"behavior": "deny", "interrupt": true}}}`, "[", `{"decision": null}`, "\xff",
	} {
		f.Add("Stop", 0, []byte(seed), []byte("why"))
		f.Add("PreToolUse", 2, []byte(seed), []byte("sh: 1: Syntax error: x"))
	}
	f.Fuzz(func(t *testing.T, event string, code int, stdout, stderr []byte) {
		decided, err := commandhooks.ParseOutput(event, code, stdout, stderr)
		if err == nil && code != 0 && code != 2 && !decided {
			t.Errorf("exit code %d at %s is not an error", code, event)
		}
		if err != nil && decided {
			t.Errorf("exit code %d, %q, %q at %s is an error and a decision", code, stdout, stderr, event)
		}
	})
}

// Whatever a model writes, it is an object that blocks or not, or an error.
func FuzzJudgement(f *testing.F) {
	for _, seed := range []string{"", "{", "}{", `{"ok": true}`, `{"ok": false, "reason": "x"}`, "```json\n{\"ok\": false}\n```", `{"ok": "no"}`, `{"reason": "x"}`, `{"ok": null}`} {
		f.Add("Stop", seed)
	}
	f.Fuzz(func(t *testing.T, event, text string) {
		blocks, err := commandhooks.ParseJudgement(event, text)
		if blocks && (err != nil || !strings.Contains(text, "{")) {
			t.Errorf("%q at %s blocks, %v", text, event, err)
		}
	})
}
