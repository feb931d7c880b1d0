package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/sdk"
)

// commandEvents are the events that carry the hooks of a point.
var commandEvents = map[sdk.Point]string{
	sdk.PointToolBefore: "PreToolUse", sdk.PointPermissionAsk: "PermissionRequest", sdk.PointToolAfter: "PostToolUse",
}

// commandHooks opens command hooks that run a command at the points.
func commandHooks(t *testing.T, command string, env map[string]string, hooks ...sdk.HookDescription) *commandhooks.Plugin {
	t.Helper()
	events := map[string]any{}
	for _, h := range hooks {
		entry := map[string]any{"type": "command", "command": command}
		if h.TimeoutMS > 0 {
			entry["timeout"] = float64(h.TimeoutMS) / 1000
		}
		events[commandEvents[sdk.Point(h.Point)]] = []any{map[string]any{"hooks": []any{entry}}}
	}
	data, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	p, err := commandhooks.New(commandhooks.Source{Name: conformance.Name, Where: "test", Data: data, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// commandCarrier is a command that is started for each event.
func commandCarrier() Carrier {
	return Carrier{
		Name: "command", Foreign: true, Points: []sdk.Point{sdk.PointToolBefore, sdk.PointPermissionAsk}, Hang: conformance.FaultLoop,
		Open: func(t *testing.T, c Case) sdk.Plugin {
			p := commandHooks(t, program(t), map[string]string{guestEnv: guestCommand, "CONFORMANCE_OPTIONS": string(c.Options)}, c.Description.Hooks...)
			return &described{p, c.Description.Hooks, func(h *sdk.Hook) bool { return strings.Contains(h.Name, "hooks[0]") }}
		},
		Skips: map[string]string{
			"answers": "a command answers with a value, not with changes", "tools": "a command has none", "abilities": "a command has none", "auth": "a command has none", "models": "a command has none", "points": "a command keeps no record of its calls",
			"fields/reads escaped": "a command keeps no record of its calls", "fields/reads missing": "a command keeps no record of its calls",
			"fields/reads one argument": "a command keeps no record of its calls",
			"changes/null object":       "an updatedInput of null is none", "gates/permission ": "no reason without a decision",
			"start": "a command receives neither options nor the project, and no plugin starts or ends",
		},
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	Run(t, commandCarrier())
}

// TestBadCommands runs turns with command hooks that go wrong.
func TestBadCommands(t *testing.T) {
	t.Parallel()
	// A command with a nonsensical answer decides nothing, not even at PermissionRequest.
	commands := map[string]string{"missing": "/nonexistent/command", "interpreter": "nonexistent-interpreter x.py", "killed": "kill -9 $$"}
	for _, fault := range []string{"silent", "exit", "garbage", "flood", "drip"} {
		commands[fault] = fmt.Sprintf("%q %s", program(t), fault)
	}
	for i, name := range slices.Sorted(maps.Keys(commands)) {
		command := commands[name]
		for _, at := range some([]place{{sdk.PointToolBefore, 1}, {sdk.PointToolAfter, 1}, {sdk.PointPermissionAsk, 1}}, 2, i) {
			t.Run(name+" "+string(at.point), func(t *testing.T) {
				contained(t, at, func(t *testing.T) sdk.Plugin {
					// The hooks beside the command succeed, between its failures.
					hook := hookAt(at.point, hookTimeout)
					hook.OnError = sdk.OnErrorSkip
					return &described{commandHooks(t, command, map[string]string{guestEnv: guestFault}, hook), []sdk.HookDescription{hook}, func(h *sdk.Hook) bool { return strings.Contains(h.Name, "hooks[0]") }}
				})
			})
		}
	}
}
