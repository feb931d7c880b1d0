//go:build unix

package commandhooks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// Answers of commands at the start of a session are added to its first prompt, in order.
func TestSessionStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{
		"SessionStart": [
			{"matcher": "startup", "hooks": [{"type": "command", "command": "cat > in; echo first"}, {"type": "command", "command": "exit 1"}]},
			{"matcher": "resume", "hooks": [{"type": "command", "command": "echo never"}]},
			{"hooks": [{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"SessionStart\", \"additionalContext\": \"second\"}}'"}]}
		],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo third"}]}]
	}`)
	r.start(sdk.Session{ID: "ses_1"})
	if diff := cmp.Diff([]string{"hi", "+first", "+second", "+third"}, r.prompt("ses_1", "hi")); diff != "" {
		t.Errorf("first prompt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"again", "+third"}, r.prompt("ses_1", "again")); diff != "" {
		t.Errorf("second prompt (-want +got):\n%s", diff)
	}
	if in := r.input("in"); in["source"] != "startup" || in["hook_event_name"] != "SessionStart" {
		t.Errorf("input %v", in)
	}
	r.settle()
	if f := r.failures(); !strings.Contains(f, "tenon.json: SessionStart[0].hooks[1]: exit code 1") {
		t.Errorf("failures %q, want the one command's", f)
	}
}

// A summary covers the texts of the start, so the commands run again, but not in a subagent's session.
func TestSessionCompacted(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{
		"SessionStart": [{"matcher": "startup|compact", "hooks": [{"type": "command", "command": "cat > in; cat left || echo first"}]}],
		"PreCompact": [{"hooks": [{"type": "command", "command": "echo rules > left"}]}]
	}`)
	r.start(sdk.Session{ID: "ses_1"})
	r.start(sdk.Session{ID: "ses_2", ParentID: "ses_1"})
	for id, want := range map[string][]string{"ses_1": {"hi", "+rules"}, "ses_2": {"hi"}} {
		r.prompt(id, "before")
		for range 2 { // as in a long turn
			if _, err := r.engine.Transform(t.Context(), sdk.PointCompacting, hooks.Scope{}, &sdk.CompactingInput{SessionID: id}, &sdk.CompactingValue{}); err != nil {
				t.Fatal(err)
			}
		}
		for purpose, want := range map[sdk.Purpose][]string{sdk.PurposeTurn: strings.Fields(strings.ReplaceAll("sys "+strings.Join(want[1:], " "), "+", "")), sdk.PurposeTitle: {"sys"}} {
			v := &sdk.ChatSystemValue{System: []string{"sys"}}
			if _, err := r.engine.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{SessionID: id, Purpose: purpose}, v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, v.System); diff != "" {
				t.Errorf("system prompt of a %s after the summary (-want +got):\n%s", purpose, diff)
			}
		}
		if diff := cmp.Diff(want, r.prompt(id, "hi")); diff != "" {
			t.Errorf("first prompt after the summary (-want +got):\n%s", diff)
		}
	}
	if in := r.input("in"); in["source"] != "compact" {
		t.Errorf("input %v", in)
	}
	r.clean()
}

func TestSessionResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "SessionStart", "resume", "echo back"))
	r.start(sdk.Session{ID: "ses_1", Model: &sdk.SessionModel{ID: "m"}})
	if diff := cmp.Diff([]string{"hi", "+back"}, r.prompt("ses_1", "hi")); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	r.clean()
}

// A plugin that joins a running session does not delay its prompts.
func TestSessionThatWasNotAnnounced(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "SessionStart", "", "echo late"))
	for range 2 {
		if diff := cmp.Diff([]string{"hi"}, r.prompt("ses_1", "hi")); diff != "" {
			t.Errorf("prompt (-want +got):\n%s", diff)
		}
	}
	r.clean()
}

// A subagent has its own events, and its prompts are not a user's.
func TestSubagents(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{
		"SessionStart": [{"hooks": [{"type": "command", "command": "echo main"}]}],
		"SessionEnd": [{"hooks": [{"type": "command", "command": "echo $$ >> ended"}]}],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo user"}]}],
		"SubagentStart": [
			{"matcher": "explore", "hooks": [{"type": "command", "command": "cat > started; echo '{\"hookSpecificOutput\": {\"additionalContext\": \"sub\"}}'"}]},
			{"matcher": "general", "hooks": [{"type": "command", "command": "touch never"}]}
		],
		"Stop": [{"hooks": [{"type": "command", "command": "cat > stopped; echo main goes on >&2; exit 2"}]}],
		"SubagentStop": [{"matcher": "explore", "hooks": [{"type": "command", "command": "cat > substopped; echo sub goes on >&2; exit 2"}]}]
	}`)
	main, child := sdk.Session{ID: "ses_1"}, sdk.Session{ID: "ses_2", ParentID: "ses_1", Agent: "explore"}
	r.start(main)
	r.start(child)
	if diff := cmp.Diff([]string{"hi", "+main", "+user"}, r.prompt("ses_1", "hi")); diff != "" {
		t.Errorf("the user's prompt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"task", "+sub"}, r.prompt("ses_2", "task")); diff != "" {
		t.Errorf("the subagent's prompt (-want +got):\n%s", diff)
	}
	if in := r.input("started"); in["agent_type"] != "explore" || in["agent_id"] != "ses_2" || in["parent_session_id"] != "ses_1" || r.exists("never") {
		t.Errorf("input of SubagentStart %v", in)
	}
	if got := r.stop("ses_2", "explore"); got.Verdict != sdk.VerdictContinue || got.Message != "sub goes on" || r.exists("stopped") {
		t.Errorf("the subagent's stop = %+v", got)
	}
	if got := r.stop("ses_2", "general"); got.Verdict == sdk.VerdictContinue {
		t.Errorf("another subagent's stop = %+v", got)
	}
	if got := r.stop("ses_1", "build"); got.Verdict != sdk.VerdictContinue || got.Message != "main goes on" {
		t.Errorf("the user's stop = %+v", got)
	}
	if in := r.input("substopped"); in["agent_type"] != "explore" || in["agent_id"] != "ses_2" || in["last_assistant_message"] != "done" {
		t.Errorf("input of SubagentStop %v", in)
	}
	for _, s := range []sdk.Session{child, main} {
		r.engine.Observe(sdk.PointSessionEnd, &sdk.SessionInput{SessionID: s.ID, Session: s})
	}
	r.settle()
	if strings.Count(r.file("ended"), "\n") != 1 {
		t.Errorf("SessionEnd ran for %q, want once", r.file("ended"))
	}
	r.clean()
}
