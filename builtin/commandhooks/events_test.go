//go:build unix

package commandhooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestPreToolUseInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", "cat > in; env > env; pwd > cwd"))
	in := bashCall("call_1")
	in.Tool = "edit"
	r.before(in, sdk.Object{"filePath": "a", "oldString": "b", "newString": "c", "replaceAll": true})
	r.clean()
	want := map[string]any{
		"session_id": "ses_1", "cwd": r.dir, "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Edit", "tool_use_id": "call_1",
		"tool_input": map[string]any{"file_path": filepath.Join(r.dir, "a"), "old_string": "b", "new_string": "c", "replace_all": true},
		"tenon": map[string]any{
			"tool": "edit", "origin": map[string]any{"carrier": "builtin", "plugin": "shell"}, "messageID": "msg_1", "agent": "build", "agentPath": "build",
		},
	}
	if diff := cmp.Diff(want, r.input("in")); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	in.Tool, in.Agent, in.AgentPath = "skill", "rev", "build/rev"
	r.before(in, sdk.Object{"name": "s"})
	got := r.input("in")
	if diff := cmp.Diff([]any{"Skill", map[string]any{"skill": "s"}, "ses_1", "rev"}, []any{got["tool_name"], got["tool_input"], got["agent_id"], got["agent_type"]}); diff != "" {
		t.Errorf("input of a subagent's call (-want +got):\n%s", diff)
	}
	if cwd, err := filepath.EvalSymlinks(r.dir); err != nil || strings.TrimSpace(r.file("cwd")) != cwd {
		t.Errorf("ran in %q, want %q", r.file("cwd"), cwd)
	}
}

// A path is absolute, except the name of a stored output: an answer with it as updatedInput must name the same text. An argument with the
// dialect's name, which the tool does not read, does not hide the path.
func TestFilePath(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", "cat > in"))
	for range 20 {
		in := bashCall("call_1")
		in.Tool = "write"
		r.before(in, sdk.Object{"filePath": "secret", "file_path": "harmless"})
		if diff := cmp.Diff(map[string]any{"file_path": filepath.Join(r.dir, "secret")}, r.input("in")["tool_input"]); diff != "" {
			t.Fatalf("two names (-want +got):\n%s", diff)
		}
	}
	for _, c := range []struct{ tool, path, want string }{
		{"read", "tool-output/a", "tool-output/a"},
		{"write", "tool-output/a", filepath.Join(r.dir, "tool-output", "a")},
		{"read", "output/a", filepath.Join(r.dir, "output", "a")},
	} {
		in := bashCall("call_1")
		in.Tool = c.tool
		r.before(in, sdk.Object{"filePath": c.path})
		if diff := cmp.Diff(map[string]any{"file_path": c.want}, r.input("in")["tool_input"]); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.path, diff)
		}
	}
	r.clean()
}

// A command gets the variables that it needs to run and its location, and nothing else from the host. Not parallel: the
// test sets the environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "s3cret")
	t.Setenv("TENON_TEST_OTHER", "s3cret")
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	r := newSourceRig(t, commandhooks.Source{
		Name: "plugin", Where: "hooks.json", Data: []byte(shell(t, "PreToolUse", "", `env > env; echo "${CLAUDE_PLUGIN_ROOT}/x" > root`)),
		Root: "/plugins/a", Env: map[string]string{"EXTRA": "1", "CLAUDE_PLUGIN_ROOT": "/plugins/a"},
	})
	r.before(bashCall("1"), sdk.Object{})
	r.clean()
	env := r.file("env")
	for _, want := range []string{
		"CLAUDE_PROJECT_DIR=" + filepath.Dir(r.dir), "TENON_PROJECT_DIR=" + filepath.Dir(r.dir), "CLAUDE_PLUGIN_ROOT=/plugins/a", "EXTRA=1",
		"PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=http://proxy.example:3128",
	} {
		if !strings.Contains("\n"+env, "\n"+want+"\n") {
			t.Errorf("the environment has no %s:\n%s", want, env)
		}
	}
	if strings.Contains(env, "s3cret") {
		t.Errorf("the environment holds a secret of the host:\n%s", env)
	}
	if r.file("root") != "/plugins/a/x\n" {
		t.Errorf("root %q", r.file("root"))
	}
}

// The answers of a command at PreToolUse, with their effect on the call and on its permission request.
func TestPreToolUse(t *testing.T) {
	t.Parallel()
	specific := func(fields string) string {
		return answer(`{"hookSpecificOutput": {"hookEventName": "PreToolUse", ` + fields + `}}`)
	}
	for name, c := range map[string]struct {
		command string
		verdict sdk.Verdict // at tool.execute.before
		leave   sdk.Verdict // at permission.ask
		reason  string
		args    string // that run; empty: as they were
	}{
		"nothing":                {command: "true"},
		"empty object":           {command: answer("{}")},
		"plain text":             {command: "echo all is well"},
		"blank":                  {command: "echo"},
		"allow":                  {command: specific(`"permissionDecision": "allow", "permissionDecisionReason": "known"`), leave: sdk.VerdictAllow, reason: "known"},
		"allow without reason":   {command: specific(`"permissionDecision": "allow"`), leave: sdk.VerdictAllow, reason: "command hook PreToolUse[0].hooks[0]"},
		"ask":                    {command: specific(`"permissionDecision": "ask", "permissionDecisionReason": "unsure"`), leave: sdk.VerdictAsk, reason: "unsure"},
		"deny":                   {command: specific(`"permissionDecision": "deny", "permissionDecisionReason": "no"`), verdict: sdk.VerdictDeny, reason: "no"},
		"deny at the top":        {command: answer(`{"permissionDecision": "deny", "permissionDecisionReason": "no"}`), verdict: sdk.VerdictDeny, reason: "no"},
		"deny without reason":    {command: specific(`"permissionDecision": "deny"`), verdict: sdk.VerdictDeny, reason: "refused by the command hook PreToolUse[0].hooks[0] without a reason"},
		"exit code 2":            {command: "echo not that >&2; exit 2", verdict: sdk.VerdictDeny, reason: "not that"},
		"exit code 2, no reason": {command: "exit 2", verdict: sdk.VerdictDeny, reason: "refused by the command hook PreToolUse[0].hooks[0] without a reason"},
		"deny, then a failure":   {command: specific(`"permissionDecision": "deny", "permissionDecisionReason": "no"`) + "\nexit 1", verdict: sdk.VerdictDeny, reason: "no"},
		"ask, then a failure":    {command: specific(`"permissionDecision": "ask", "permissionDecisionReason": "unsure"`) + "\nexit 1", leave: sdk.VerdictAsk, reason: "unsure"},
		"deny, exit code 2":      {command: specific(`"permissionDecision": "deny", "permissionDecisionReason": "no"`) + "\necho other >&2; exit 2", verdict: sdk.VerdictDeny, reason: "no"},
		"ask, exit code 2":       {command: specific(`"permissionDecision": "ask", "permissionDecisionReason": "unsure"`) + "\necho no >&2; exit 2", verdict: sdk.VerdictDeny, reason: "no"},
		"deny, then a signal":    {command: specific(`"permissionDecision": "deny", "permissionDecisionReason": "no"`) + "\nkill -SEGV $$", verdict: sdk.VerdictDeny, reason: "no"},
		"older block":            {command: answer(`{"decision": "block", "reason": "no"}`), verdict: sdk.VerdictDeny, reason: "no"},
		"byte order mark":        {command: `printf '\357\273\277 {"decision": "block", "reason": "no"}'`, verdict: sdk.VerdictDeny, reason: "no"},
		"after going async":      {command: `echo '{"async": true, "asyncTimeout": 9}'; echo '{"decision": "block", "reason": "no"}'`, verdict: sdk.VerdictDeny, reason: "no"},
		"older approve":          {command: answer(`{"decision": "approve", "reason": "yes"}`), leave: sdk.VerdictAllow, reason: "yes"},
		"halt":                   {command: answer(`{"continue": false, "stopReason": "enough"}`), verdict: sdk.VerdictHalt, reason: "enough"},
		"deny beats allow":       {command: answer(`{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}`), verdict: sdk.VerdictDeny, reason: "no"},
		"deny before allow":      {command: answer(`{"decision": "block", "reason": "no", "hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "known"}}`), verdict: sdk.VerdictDeny, reason: "no"},
		"deny, reason to allow":  {command: answer(`{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "known"}}`), verdict: sdk.VerdictDeny, reason: "refused by the command hook PreToolUse[0].hooks[0] without a reason"},
		"reason to allow, deny":  {command: answer(`{"decision": "approve", "reason": "yes", "hookSpecificOutput": {"permissionDecision": "deny"}}`), verdict: sdk.VerdictDeny, reason: "refused by the command hook PreToolUse[0].hooks[0] without a reason"},
		"one reason, two words":  {command: answer(`{"reason": "no", "hookSpecificOutput": {"permissionDecision": "deny"}}`), verdict: sdk.VerdictDeny, reason: "no"},
		"reason to allow, halt":  {command: answer(`{"continue": false, "decision": "approve", "reason": "yes"}`), verdict: sdk.VerdictHalt, reason: "refused by the command hook PreToolUse[0].hooks[0] without a reason"},
		"reason to deny, halt":   {command: answer(`{"continue": false, "decision": "block", "reason": "no"}`), verdict: sdk.VerdictHalt, reason: "no"},
		"deny beats arguments":   {command: specific(`"permissionDecision": "deny", "permissionDecisionReason": "no", "updatedInput": [1]`), verdict: sdk.VerdictDeny, reason: "no"},
		"other arguments":        {command: specific(`"updatedInput": {"command": "ls -l"}`), args: "ls -l"},
		"other arguments, allow": {command: specific(`"updatedInput": {"command": "ls -l"}, "permissionDecision": "allow"`), args: "ls -l", leave: sdk.VerdictAllow, reason: "command hook PreToolUse[0].hooks[0]"},
		"input as null":          {command: specific(`"updatedInput": null`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, "PreToolUse", "Bash", c.command))
			in := bashCall("1")
			result, args := r.before(in, sdk.Object{"command": "ls"})
			r.clean()
			if result.Verdict != c.verdict || c.verdict != "" && result.Reason != c.reason {
				t.Errorf("before = %q %q, want %q %q", result.Verdict, result.Reason, c.verdict, c.reason)
			}
			want := "ls"
			if c.args != "" {
				want = c.args
			}
			if args["command"] != want {
				t.Errorf("arguments %v, want the command %q", args, want)
			}
			leave := r.ask(request(in, "bash", fmt.Sprintf(`{ "command": %q }`, want)))
			if leave.Verdict != c.leave || c.leave != "" && leave.Reason != c.reason {
				t.Errorf("leave = %q %q, want %q %q", leave.Verdict, leave.Reason, c.leave, c.reason)
			}
		})
	}
}

// The model gets the texts of the commands before a call with its output.
func TestPreToolUseContext(t *testing.T) {
	t.Parallel()
	text := `{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"additionalContext\": \"more\"}}'"}`
	r := newRig(t, `{"PreToolUse": [{"hooks": [`+text+`,`+text+`]}]}`)
	in := bashCall("1")
	r.before(in, sdk.Object{"command": "ls"})
	if got := r.after(in, sdk.OutcomeOK, "out"); got != "out\n\nmore\n\nmore" {
		t.Errorf("output %q", got)
	}
	if got := r.after(bashCall("2"), sdk.OutcomeOK, "out"); got != "out" {
		t.Errorf("output of another call %q", got)
	}
	r.clean()
}

// A permission that a command gave applies to the call and the arguments that the command saw.
func TestLeaveIsForOneCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "Bash", answer(`{"decision": "approve"}`)))
	in := bashCall("1")
	r.before(in, sdk.Object{"command": "ls", "n": 1})
	for name, c := range map[string]struct {
		request *sdk.PermissionRequest
		want    sdk.Verdict
	}{
		"the call":                  {request(in, "bash", `{"n":1.0,"command":"ls"}`), sdk.VerdictAllow},
		"another permission of it":  {request(in, "external_directory", `{"command":"ls","n":1}`), sdk.VerdictAllow},
		"other arguments":           {request(in, "bash", `{"command":"rm -rf /","n":1}`), ""},
		"no arguments":              {request(in, "bash", ""), ""},
		"another call":              {request(bashCall("2"), "bash", `{"command":"ls","n":1}`), ""},
		"running in circles":        {request(in, sdk.PermissionDoomLoop, `{"command":"ls","n":1}`), ""},
		"outside of a tool call":    {&sdk.PermissionRequest{SessionID: in.SessionID, Permission: "bash"}, ""},
		"another session's message": {&sdk.PermissionRequest{SessionID: "ses_2", Permission: "bash", Tool: &sdk.CallRef{MessageID: "msg_1", CallID: "1"}}, ""},
	} {
		if got := r.ask(c.request); got.Verdict != c.want {
			t.Errorf("%s = %q, want %q", name, got.Verdict, c.want)
		}
	}
}

// Several commands run in the order in which they are written, each with the arguments as changed by the one before.
func TestOrder(t *testing.T) {
	t.Parallel()
	step := func(name string) string {
		return fmt.Sprintf(`{"type": "command", "command": "echo %s >> order; sed 's/.*\"tool_input\":{\"command\":\"\\([^\"]*\\)\".*/{\"hookSpecificOutput\":{\"updatedInput\":{\"command\":\"\\1 %s\"}}}/'"}`, name, name)
	}
	r := newRig(t, `{"PreToolUse": [{"matcher": "Bash", "hooks": [`+step("a")+`,`+step("b")+`]}, {"matcher": "Read", "hooks": [`+step("never")+`]}, {"hooks": [`+step("c")+`]}]}`)
	_, args := r.before(bashCall("1"), sdk.Object{"command": "ls"})
	r.clean()
	if args["command"] != "ls a b c" || r.file("order") != "a\nb\nc\n" {
		t.Errorf("arguments %v, order %q", args, r.file("order"))
	}
	var outcomes []string
	for _, e := range r.ledger.Entries() {
		outcomes = append(outcomes, e.Hook+" "+string(e.Outcome))
	}
	want := []string{
		"PreToolUse[0].hooks[0] changed", "PreToolUse[0].hooks[1] changed", "PreToolUse[1].hooks[0] unchanged", "PreToolUse[2].hooks[0] changed",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestPermissionRequest(t *testing.T) {
	t.Parallel()
	decision := func(fields string) string {
		return answer(`{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {` + fields + `}}}`)
	}
	for name, c := range map[string]struct {
		command string
		verdict sdk.Verdict
		reason  string
	}{
		"nothing":     {"true", "", ""},
		"allow":       {decision(`"behavior": "allow"`), sdk.VerdictAllow, ""},
		"deny":        {decision(`"behavior": "deny", "message": "no"`), sdk.VerdictDeny, "no"},
		"interrupt":   {decision(`"behavior": "deny", "message": "no", "interrupt": true`), sdk.VerdictHalt, "no"},
		"exit code 2": {"echo no >&2; exit 2", sdk.VerdictDeny, "no"},
		"ask":         {answer(`{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "r"}}`), sdk.VerdictAsk, "r"},
		"halt":        {answer(`{"continue": false, "stopReason": "enough"}`), sdk.VerdictHalt, "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, "PermissionRequest", "Write", c.command))
			in := bashCall("1")
			in.Tool = "write"
			r.before(in, sdk.Object{})
			got := r.ask(request(in, "edit", `{"filePath":"a"}`))
			r.clean()
			if got.Verdict != c.verdict || got.Reason != c.reason {
				t.Errorf("leave = %q %q, want %q %q", got.Verdict, got.Reason, c.verdict, c.reason)
			}
		})
	}
}

func TestPermissionRequestInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PermissionRequest", "", answer(`{"decision": "approve"}`)))
	in := bashCall("1")
	in.Tool, in.Origin = "srv_do", sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: "srv", Server: "srv"}
	r.before(in, sdk.Object{})
	if got := r.ask(request(in, "srv_do", `{"filePath":"a"}`)); got.Verdict != sdk.VerdictAllow {
		t.Errorf("leave = %v", got)
	}
	want := map[string]any{
		"session_id": "ses_1", "cwd": r.dir, "hook_event_name": "PermissionRequest", "permission_mode": "default", "tool_name": "mcp__srv__do", "tool_use_id": "1",
		"tool_input": map[string]any{"filePath": "a"},
		"tenon":      map[string]any{"tool": "srv_do", "permission": "srv_do", "patterns": []any{"ls"}, "agent": "build"},
	}
	if diff := cmp.Diff(want, r.input("in")); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	// The question about a repeated call names the tool; allowing the tool does not allow the repetition.
	if got := r.ask(request(in, sdk.PermissionDoomLoop, `{}`)); got.Verdict != "" {
		t.Errorf("leave to run in circles = %v", got)
	}
	// Outside of a tool call, only the permission is known.
	if got := r.ask(&sdk.PermissionRequest{SessionID: "ses_1", Permission: "deploy"}); got.Verdict != sdk.VerdictAllow || r.input("in")["tool_name"] != "deploy" {
		t.Errorf("leave outside of a call = %v for %v", got, r.input("in")["tool_name"])
	}
	r.clean()
}

func TestPostToolUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event   string
		outcome sdk.Outcome
		command string
		output  string
	}{
		"nothing":               {"PostToolUse", sdk.OutcomeOK, "true", "out"},
		"a remark":              {"PostToolUse", sdk.OutcomeOK, "echo formatted", "out"},
		"context":               {"PostToolUse", sdk.OutcomeOK, answer(`{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "more"}}`), "out\n\nmore"},
		"block":                 {"PostToolUse", sdk.OutcomeOK, answer(`{"decision": "block", "reason": "bad"}`), "out\n\nA hook objects: bad"},
		"exit code 2":           {"PostToolUse", sdk.OutcomeOK, "echo bad >&2; exit 2", "out\n\nA hook objects: bad"},
		"both":                  {"PostToolUse", sdk.OutcomeOK, answer(`{"decision": "block", "reason": "bad", "hookSpecificOutput": {"additionalContext": "more"}}`), "out\n\nA hook objects: bad\n\nmore"},
		"halt":                  {"PostToolUse", sdk.OutcomeOK, answer(`{"continue": false, "stopReason": "enough"}`), "out\n\nA hook objects: enough"},
		"not for an error":      {"PostToolUse", sdk.OutcomeError, "echo bad >&2; exit 2", "out"},
		"not for a denial":      {"PostToolUse", sdk.OutcomeDenied, "echo bad >&2; exit 2", "out"},
		"failure":               {"PostToolUseFailure", sdk.OutcomeError, answer(`{"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "try x"}}`), "out\n\ntry x"},
		"failure by abort":      {"PostToolUseFailure", sdk.OutcomeAborted, "echo bad >&2; exit 2", "out\n\nA hook objects: bad"},
		"failure, not success":  {"PostToolUseFailure", sdk.OutcomeOK, "echo bad >&2; exit 2", "out"},
		"failure, not a denial": {"PostToolUseFailure", sdk.OutcomeDenied, "echo bad >&2; exit 2", "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, c.event, "Bash", c.command))
			if got := r.after(bashCall("1"), c.outcome, "out"); got != c.output {
				t.Errorf("output %q, want %q", got, c.output)
			}
			r.clean()
		})
	}
}

// A shell command that ended with an exit code other than 0 has failed, although the call has a result.
func TestFailedCommand(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{0: "out\n\nPostToolUse", 3: "out\n\nPostToolUseFailure"} {
		text := func(event string) string {
			return answer(`{"hookSpecificOutput": {"additionalContext": "` + event + `"}}`)
		}
		r := newRig(t, strings.TrimSuffix(shell(t, "PostToolUse", "", text("PostToolUse")), "}")+","+strings.TrimPrefix(shell(t, "PostToolUseFailure", "", text("PostToolUseFailure")), "{"))
		if got := r.afterWith(bashCall("1"), sdk.OutcomeOK, &sdk.ToolAfterValue{Output: "out", Metadata: sdk.Object{"exit": code}}); got != want {
			t.Errorf("exit code %d: output %q, want %q", code, got, want)
		}
		r.clean()
	}
}

// updatedToolOutput replaces the output, in each form in which commands read it.
func TestUpdatedOutput(t *testing.T) {
	t.Parallel()
	for updated, want := range map[string]string{
		`"new"`: "new", `{"stdout": "new", "stderr": "!", "interrupted": false}`: "new!", `{"output": "new", "title": "t"}`: "new", `null`: "out", `""`: "",
		`{"output": {"text": "new"}}`: `{"output": {"text": "new"}}`, `[{"type": "text", "text": "new"}]`: `[{"type": "text", "text": "new"}]`,
	} {
		r := newRig(t, shell(t, "PostToolUse", "", answer(`{"hookSpecificOutput": {"updatedToolOutput": `+updated+`}}`)))
		if got := r.after(bashCall("1"), sdk.OutcomeOK, "out"); got != want {
			t.Errorf("%s: output %q, want %q", updated, got, want)
		}
		r.clean()
	}
}

// TestUpdatedOutputAlone: what the output had attached is not the hook's, so the model must not see it.
func TestUpdatedOutputAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PostToolUse", "", answer(`{"hookSpecificOutput": {"updatedToolOutput": "new"}}`)))
	v := &sdk.ToolAfterValue{Output: "out", Attachments: []*sdk.FilePart{{Mime: "image/png"}}}
	r.afterWith(bashCall("1"), sdk.OutcomeOK, v)
	if v.Output != "new" || len(v.Attachments) != 0 {
		t.Errorf("value %+v", v)
	}
}

func TestPostToolUseInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PostToolUse", "", "cat > in"))
	r.after(bashCall("1"), sdk.OutcomeOK, "out")
	in := r.input("in")
	if diff := cmp.Diff([]any{map[string]any{"output": "out", "title": "", "metadata": nil, "stdout": "out", "stderr": ""}, map[string]any{"command": "ls"}, "Bash"},
		[]any{in["tool_response"], in["tool_input"], in["tool_name"]}); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	write := bashCall("1")
	write.Tool = "write"
	r.afterWith(write, sdk.OutcomeOK, &sdk.ToolAfterValue{Metadata: sdk.Object{"filepath": "/a"}})
	if response := r.input("in")["tool_response"].(map[string]any); response["filePath"] != "/a" {
		t.Errorf("tool_response %v", response)
	}
	r = newRig(t, shell(t, "PostToolUseFailure", "", "cat > in"))
	r.after(bashCall("1"), sdk.OutcomeAborted, "out")
	in = r.input("in")
	if in["error"] != "out" || in["is_interrupt"] != true || in["tool_response"] != nil {
		t.Errorf("input %v", in)
	}
}

func TestUserPromptSubmit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		want    []string
	}{
		"nothing":     {"true", []string{"one", "two"}},
		"plain text":  {"echo; echo the branch is main; echo", []string{"one", "two", "+the branch is main"}},
		"context":     {answer(`{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"}}`), []string{"one", "two", "+c"}},
		"block":       {answer(`{"decision": "block", "reason": "secret"}`), []string{"+A hook withheld the user's prompt from you. Tell the user so, with this reason, and do nothing else: secret"}},
		"exit code 2": {"echo secret >&2; exit 2", []string{"+A hook withheld the user's prompt from you. Tell the user so, with this reason, and do nothing else: secret"}},
		"halt":        {answer(`{"continue": false, "stopReason": "enough"}`), []string{"+A hook withheld the user's prompt from you. Tell the user so, with this reason, and do nothing else: enough"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, "UserPromptSubmit", "", "tee in >/dev/null <<X\nX\n"+c.command))
			r.start(sdk.Session{ID: "ses_1"})
			if diff := cmp.Diff(c.want, r.prompt("ses_1", "one", "two")); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			r.clean()
		})
	}
	r := newRig(t, shell(t, "UserPromptSubmit", "", "cat > in"))
	r.start(sdk.Session{ID: "ses_1"})
	r.prompt("ses_1", "one", "two")
	if in := r.input("in"); in["prompt"] != "one\ntwo" || in["session_id"] != "ses_1" {
		t.Errorf("input %v", in)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		verdict sdk.Verdict
		message string
	}{
		"nothing":     {"true", sdk.VerdictAllow, ""},
		"a remark":    {"echo bye", sdk.VerdictAllow, ""},
		"block":       {answer(`{"decision": "block", "reason": "run the tests"}`), sdk.VerdictContinue, "run the tests"},
		"exit code 2": {"echo run the tests >&2; exit 2", sdk.VerdictContinue, "run the tests"},
		"halt wins":   {answer(`{"continue": false, "decision": "block", "reason": "run the tests"}`), sdk.VerdictAllow, ""},
		"context":     {answer(`{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "go on"}}`), sdk.VerdictContinue, "go on"},
		"halt, text":  {answer(`{"continue": false, "hookSpecificOutput": {"additionalContext": "go on"}}`), sdk.VerdictAllow, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, "Stop", "", c.command))
			got := r.stop("ses_1", "build")
			if got.Verdict != c.verdict || got.Message != c.message {
				t.Errorf("stop = %+v, want %q %q", got, c.verdict, c.message)
			}
			r.clean()
		})
	}
	r := newRig(t, shell(t, "Stop", "", "cat > in"))
	r.stop("ses_1", "build")
	if in := r.input("in"); in["stop_hook_active"] != true || in["last_assistant_message"] != "done" {
		t.Errorf("input %v", in)
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{
		"PreCompact": [{"hooks": [{"type": "command", "command": "cat > before; echo '{\"hookSpecificOutput\": {\"additionalContext\": \"keep the numbers\"}}'"}]}],
		"PostCompact": [{"hooks": [{"type": "command", "command": "cat > after"}]}]
	}`)
	v := &sdk.CompactingValue{Context: []string{"x"}}
	if _, err := r.engine.Transform(t.Context(), sdk.PointCompacting, hooks.Scope{}, &sdk.CompactingInput{SessionID: "ses_1"}, v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "keep the numbers"}, v.Context); diff != "" || r.input("before")["hook_event_name"] != "PreCompact" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	r.engine.Observe(sdk.PointEvent, &sdk.Event{Type: sdk.EventSessionIdle, Properties: &sdk.SessionRef{SessionID: "ses_2"}})
	r.engine.Observe(sdk.PointEvent, &sdk.Event{Type: sdk.EventSessionCompacted, Properties: &sdk.SessionRef{SessionID: "ses_1"}})
	r.settle()
	if in := r.input("after"); in["session_id"] != "ses_1" || in["hook_event_name"] != "PostCompact" {
		t.Errorf("input %v", in)
	}
	r.clean()
}

// The user sees the messages in an answer. A line break in one does not start a new line of the log.
func TestToldToTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", answer(`{"systemMessage": "mind\nthe gap", "hookSpecificOutput": {"additionalContext": "x"}}`)))
	r.before(bashCall("1"), sdk.Object{})
	if want := `msg="message of a command hook" text="mind\nthe gap"`; !strings.Contains(r.host.logged(), want) {
		t.Errorf("the log does not say %q:\n%s", want, r.host.logged())
	}
	r.clean()
}
