package commandhooks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestBadSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, text string }{
		"not JSON":            {`{`, "tenon.json: not valid JSON"},
		"empty":               {``, "tenon.json: not valid JSON"},
		"a list":              {`[]`, "tenon.json: want an object, have a list"},
		"null":                {`null`, "tenon.json: want an object, have null"},
		"two objects":         {`{}{}`, "after top-level value"},
		"hooks is an array":   {`{"hooks": []}`, "tenon.json: hooks: want an object"},
		"event is an object":  {`{"Stop": {}}`, "tenon.json: Stop: want a list, have an object"},
		"event is null":       {`{"Stop": null}`, "tenon.json: Stop: want a list"},
		"event twice":         {`{"Stop": [], "Stop": []}`, `tenon.json: Stop: duplicate key; remove one`},
		"group is a string":   {`{"Stop": ["x"]}`, `tenon.json: Stop[0]: want an object, have "x"`},
		"no hooks":            {`{"PreToolUse": [{"matcher": "Bash"}]}`, `tenon.json: PreToolUse[0]: missing list "hooks"`},
		"hooks is an object":  {`{"PreToolUse": [{"hooks": "ls"}]}`, `PreToolUse[0].hooks: want a list, have "ls"`},
		"matcher is an array": {`{"PreToolUse": [{"matcher": ["Bash"], "hooks": []}]}`, `PreToolUse[0].matcher: want a string`},
		"bad regexp":          {`{"PreToolUse": [{"hooks": []}, {"matcher": "(?=Bash)", "hooks": []}]}`, `tenon.json: PreToolUse[1].matcher: "(?=Bash)" is neither a list of names separated by | nor a Go regular expression`},
		"no type":             {`{"Stop": [{"hooks": [{"command": "ls"}]}]}`, `tenon.json: Stop[0].hooks[0].type: missing`},
		"type is a number":    {`{"Stop": [{"hooks": [{"type": 1}]}]}`, `Stop[0].hooks[0].type: want a string, have 1`},
		"no command":          {`{"Stop": [{"hooks": [{"type": "command"}]}]}`, `Stop[0].hooks[0].command: missing`},
		"blank command":       {`{"Stop": [{"hooks": [{"type": "command", "command": " "}]}]}`, `Stop[0].hooks[0].command: missing`},
		"command is a list":   {`{"Stop": [{"hooks": [{"type": "command", "command": ["ls"]}]}]}`, `Stop[0].hooks[0].command: want a string, have a list`},
		"timeout is text":     {`{"Stop": [{"hooks": [{"type": "command", "command": "ls", "timeout": "5s"}]}]}`, `Stop[0].hooks[0].timeout: want a number of seconds above 0, have "5s"`},
		"timeout is 0":        {`{"Stop": [{"hooks": [{"type": "command", "command": "ls", "timeout": 0}]}]}`, `timeout: want a number of seconds above 0`},
		"timeout below 0":     {`{"Stop": [{"hooks": [{"type": "command", "command": "ls", "timeout": -1}]}]}`, `timeout: want a number of seconds above 0`},
		"key twice":           {`{"Stop": [{"hooks": [{"type": "command", "command": "ls", "command": "rm"}]}]}`, `Stop[0].hooks[0].command: duplicate key; remove one`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commandhooks.Source{Name: "hooks-test", Where: "tenon.json", Data: []byte(c.data)}
			_, err := commandhooks.New(s)
			if !errors.Is(err, commandhooks.ErrSource) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("New(%s) = %v, want %q", c.data, err, c.text)
			}
			if _, _, again := commandhooks.Commands(s); again == nil || again.Error() != err.Error() {
				t.Errorf("Commands(%s) = %v, want the same error", c.data, again)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	p, err := commandhooks.New(commandhooks.Source{Name: "good", Where: "a.json", Data: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Manifest(); m.Name != "good" || m.Carrier != sdk.CarrierCommand {
		t.Errorf("manifest %+v", m)
	}
	if _, err := commandhooks.New(commandhooks.Source{Name: "No Name", Where: "c.json", Data: []byte(`{}`)}); err == nil || !strings.Contains(err.Error(), `c.json: bad manifest: name: "No Name"`) {
		t.Errorf("error %v, want one that names the source", err)
	}
}

// All problems of a source are listed; those of a package's file have lines.
func TestAllProblems(t *testing.T) {
	t.Parallel()
	data := []byte("{\"Stop\": [{\"hooks\": [{\"type\": 1},\n{\"type\": \"command\", \"command\": \"\"}]}]}")
	for root, want := range map[string]string{
		"":     "bad command hooks: h.json: Stop[0].hooks[0].type: want a string, have 1\nh.json: Stop[0].hooks[1].command: missing; write the shell command to run",
		"/pkg": "bad command hooks: h.json:1:31: Stop[0].hooks[0].type: want a string, have 1\nh.json:2:1: Stop[0].hooks[1].command: missing; write the shell command to run",
	} {
		_, err := commandhooks.New(commandhooks.Source{Name: "p", Where: "h.json", Data: data, Root: root})
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Settings without effect are reported when the plugin starts.
func TestWarnings(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"description": "d", "version": 1, "hooks": {
		"Notification": [{"hooks": []}],
		"SessionStart": [{"matcher": "startup|clear", "hooks": []}, {"matcher": "clear", "hooks": []}],
		"SessionEnd": [{"matcher": "^log", "hooks": []}, {"matcher": "*", "hooks": []}],
		"Stop": [{"matcher": "x", "if": "y", "id": "i", "description": "d", "hooks": [
			{"type": "agent", "prompt": "is it done?"},
			{"type": "command", "command": "true", "asyncRewake": true, "timeout": 600, "statusMessage": "s", "description": "d"}
		]}]
	}}`)
	for _, want := range []string{
		"version is unknown and has no effect",
		"Notification is not an event of tenon; the events are SessionStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure, SubagentStart, SubagentStop, PreCompact, PostCompact, Stop, SessionEnd",
		"SessionStart[1].matcher never matches: SessionStart has only startup, resume, compact",
		"SessionEnd[0].matcher never matches: SessionEnd has only other",
		"Stop[0].matcher has no effect: Stop has nothing to match",
		"Stop[0].if is unknown and has no effect",
		`Stop[0].hooks[0] is never run: type \"agent\" is not supported; want command or prompt`,
		"Stop[0].hooks[1].asyncRewake is not supported: the turn waits for the command",
		"Stop[0].hooks[1].timeout 600 seconds exceed the maximum of 1m0s",
	} {
		if !strings.Contains(r.host.logged(), want) {
			t.Errorf("the log does not say %q:\n%s", want, r.host.logged())
		}
	}
	if strings.Count(r.host.logged(), "level=WARN") != 9 || strings.Count(r.host.logged(), "source=tenon.json") != 9 {
		t.Errorf("log:\n%s", r.host.logged())
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for root, star := range map[string]string{"": " *", "/package": ""} {
		got, warnings, err := commandhooks.Commands(commandhooks.Source{Where: "hooks.json", Root: root, Data: []byte(`{"hooks": {
			"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "b", "args": ["x", "y z"], "once": true}]}],
			"PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "d"}]}],
			"Stop": [{"hooks": [{"type": "command", "command": "c"}, {"type": "prompt", "prompt": "done?"}]}],
			"SessionEnd": [{"hooks": [{"type": "prompt", "prompt": "never"}]}]
		}}`)})
		want := []string{"PreToolUse Bash: a", "PreToolUse Bash: b x y z", "PostToolUse" + star + ": d", "Stop: c", commandhooks.Question + "Stop, with the conversation and its input: done?"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Commands: %v\n%s", err, diff)
		}
		if len(warnings) != 2 || !strings.Contains(warnings[0], "once is not supported") || !strings.Contains(warnings[1], "is never run") {
			t.Errorf("warnings %q", warnings)
		}
	}
}

// The hooks have the places, deadlines and policies of the commands.
func TestHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{
		"SessionStart": [{"hooks": [{"type": "command", "command": "a", "timeout": 1.5}, {"type": "command", "command": "a", "timeout": 2}]}],
		"PreToolUse": [{"hooks": [{"type": "command", "command": "a", "timeout": 5}, {"type": "command", "command": "b"}]}],
		"PermissionRequest": [{"hooks": [{"type": "command", "command": "a", "timeout": 0.25}]}]
	}`)
	var got []string
	for _, h := range r.engine.Order() {
		got = append(got, strings.Join([]string{string(h.Point), h.Hook, string(h.OnError), h.Timeout.String()}, " "))
	}
	want := []string{
		"session.start sessions skip 2s",
		"session.start SessionStart skip 3.5s",
		"chat.message SessionStart skip 4.5s",
		"chat.system.transform SessionStart skip 2s",
		"tool.execute.before PreToolUse[0].hooks[0] skip 5s",
		"tool.execute.before PreToolUse[0].hooks[1] skip 1m0s",
		"permission.ask PreToolUse skip 2s",
		"permission.ask PermissionRequest[0].hooks[0] skip 250ms",
		"tool.execute.after PreToolUse skip 2s",
		"session.compacting SessionStart skip 3.5s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	ours := sdk.Origin{Carrier: sdk.CarrierBuiltin}
	mcp := sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: "mcp-my.server", Server: "my.server"}
	other := sdk.Origin{Carrier: sdk.CarrierWASM, Plugin: "x"}
	for _, c := range []struct {
		matcher, tool string
		origin        sdk.Origin
		want          bool
	}{
		{"", "bash", ours, true},
		{"*", "anything", other, true},
		{"Bash", "bash", ours, true},
		{"bash", "bash", ours, true},
		{"BASH", "bash", ours, false},
		{"Bas", "bash", ours, false},
		{"Bash", "bash", other, false}, // another tool of that name
		{"bash", "bash", other, true},
		{"Edit|Write", "edit", ours, true},
		{"Edit | Write", "write", ours, true},
		{"Edit, Bash", "bash", ours, true},
		{"Edit,Bash", "edit", ours, true},
		{"Edit,Bash", "read", ours, false},
		{"Edit|Write", "apply_patch", ours, true},
		{"apply_patch", "apply_patch", ours, true},
		{"Edit|Write", "read", ours, false},
		{"MultiEdit", "edit", ours, true},
		{"Read", "read", ours, true},
		{"Glob", "glob", ours, true},
		{"Grep", "grep", ours, true},
		{"LS", "list", ours, true},
		{"WebFetch", "webfetch", ours, true},
		{"Task", "task", ours, true},
		{"Agent", "task", ours, true},
		{"TodoWrite", "todowrite", ours, true},
		{"mcp__my_server__do", "my_server_do", mcp, true},
		{"my_server_do", "my_server_do", mcp, true},
		{"mcp__my_server__.*", "my_server_do", mcp, true},
		{"mcp__.*__do", "my_server_do", mcp, true},
		{"mcp__other__.*", "my_server_do", mcp, false},
		{"mcp__plugin_hooks_test_my_server__do", "my_server_do", mcp, true},
		{"mcp__plugin_other_my_server__do", "my_server_do", mcp, false},
		{"mcp__my_server", "my_server_do", mcp, false}, // a name, not a pattern
		{"^B", "bash", ours, true},
		{"^(Bash|Read)$", "read", ours, true},
		{"Notebook.*", "bash", ours, false},
	} {
		r := newSourceRig(t, commandhooks.Source{Name: "hooks.test.hooks", Where: "tenon.json", Data: []byte(shell(t, "PreToolUse", c.matcher, "touch ran"))})
		in := bashCall("1")
		in.Tool, in.Origin = c.tool, c.origin
		r.before(in, sdk.Object{})
		r.clean()
		if got := r.exists("ran"); got != c.want {
			t.Errorf("matcher %q, tool %q of %v: ran %v, want %v", c.matcher, c.tool, c.origin, got, c.want)
		}
	}
}
