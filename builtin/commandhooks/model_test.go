package commandhooks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/sdk"
)

// model is a host with a model that answers every question with the same text.
type model struct {
	*host
	answer string
	err    error
	slow   bool // it never answers
	asked  []string
}

func (m *model) Sample(ctx context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	text := ""
	for _, part := range req.Messages[0].Parts {
		piece := part.(*sdk.TextPart).Text
		if text += piece; len(piece) > 50<<10 {
			text = "the host cuts parts of more than 50 KiB"
		}
	}
	m.asked = append(m.asked, text)
	if m.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &sdk.SampleResult{Text: m.answer}, m.err
}

func (*model) SessionMessages(context.Context, string) ([]sdk.MessageWithParts, error) {
	call := &sdk.ToolPart{Tool: "bash", State: sdk.ToolState{Status: sdk.ToolCompleted, Input: []byte(`{"command":"ls"}`), Output: strings.Repeat("long ", 1000)}}
	return []sdk.MessageWithParts{
		{Info: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: "shown only", Ignored: true}, &sdk.TextPart{Text: "list"}}},
		{Info: &sdk.AssistantMessage{}, Parts: sdk.Parts{call, &sdk.TextPart{Text: "listed"}}},
	}, nil
}

// newModelRig makes a plugin whose questions the model answers.
func newModelRig(t *testing.T, m *model, events string) *rig {
	t.Helper()
	r := newRig(t, events)
	m.host = r.host
	if err := r.plugin.Start(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return r
}

const preToolUseQuestion = `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "Is $ARGUMENTS safe?"}]}]}`

// A question blocks like a command. An answer that is none is an error, which blocks nothing.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		verdict sdk.Verdict
		reason  string
		failure string
	}{
		`{"ok": true, "reason": "fine"}`:              {},
		`{"ok": false, "reason": "it deletes files"}`: {verdict: sdk.VerdictDeny, reason: "it deletes files"},
		`{"ok": false}`: {verdict: sdk.VerdictDeny, reason: "PreToolUse[0].hooks[0]"},
		"Here:\n```json\n{\"ok\": false, \"reason\": \"no\"}\n```": {verdict: sdk.VerdictDeny, reason: "no"},
		"it is safe":            {failure: "it is safe"},
		`{"reason": "no"}`:      {failure: "want"},
		`{"ok": "no"}`:          {failure: "want"},
		`{"decision": "maybe"}`: {failure: "maybe"},
		`{"decision": "block", "reason": "older"}`:                            {verdict: sdk.VerdictDeny, reason: "older"},
		`{"ok": false, "reason": ["no tests", "no docs"]}`:                    {verdict: sdk.VerdictDeny, reason: "no docs"},
		`{"ok": false, "decision": 1}`:                                        {verdict: sdk.VerdictDeny},
		`{"permissionDecision": "deny", "permissionDecisionReason": "other"}`: {verdict: sdk.VerdictDeny, reason: "other"},
		`{"continue": false, "stopReason": "enough"}`:                         {verdict: sdk.VerdictHalt, reason: "enough"},
		`{"decision": "approve"}`:                                             {},
	} {
		m := &model{answer: answer}
		r := newModelRig(t, m, preToolUseQuestion)
		result, _ := r.before(bashCall("1"), sdk.Object{"command": "rm x"})
		if result.Verdict != want.verdict || !strings.Contains(result.Reason, want.reason) {
			t.Errorf("%s: %+v, want %+v", answer, result, want)
		}
		if f := r.failures(); (f == "") != (want.failure == "") || !strings.Contains(f, want.failure) {
			t.Errorf("%s: failures %q", answer, f)
		}
		if len(m.asked) != 1 || !strings.HasPrefix(m.asked[0], "Is {") || !strings.HasSuffix(m.asked[0], "} safe?") || !strings.Contains(m.asked[0], "rm x") {
			t.Errorf("%s: asked %q", answer, m.asked)
		}
	}
}

// At the end of a turn the model judges the conversation, and its reason continues the turn.
func TestQuestionStop(t *testing.T) {
	t.Parallel()
	m := &model{answer: `{"ok": false, "reason": "no tests ran"}`}
	r := newModelRig(t, m, `{"Stop": [{"hooks": [{"type": "prompt", "prompt": "Did tests run?"}]}]}`)
	r.start(sdk.Session{ID: "ses_1"})
	if result := r.stop("ses_1", "build"); result.Verdict != sdk.VerdictContinue || result.Message != "no tests ran" {
		t.Errorf("%+v", result)
	}
	for _, want := range []string{"conversation:\n\n[user] list\n", `[call of bash] {"command":"ls"}`, "…\n[assistant] listed\n", "Did tests run?\n\nARGUMENTS: {"} {
		if !strings.Contains(m.asked[0], want) {
			t.Errorf("asked %q, want %q in it", m.asked[0], want)
		}
	}
	r.clean()
}

// The approval of a source includes its questions: it allows them, no others, and asks none about them.
func TestQuestionPermission(t *testing.T) {
	t.Parallel()
	m := &model{answer: `{"ok": false}`}
	r := newModelRig(t, m, `{"PermissionRequest": [{"hooks": [{"type": "prompt", "prompt": "Allowed?"}]}]}`)
	for name, want := range map[string]sdk.Verdict{"hooks-test": sdk.VerdictAllow, "mcp.other": sdk.VerdictAbstain} {
		if result := r.ask(&sdk.PermissionRequest{SessionID: "ses_1", Permission: "sampling", Patterns: []string{name}}); result.Verdict != want {
			t.Errorf("sampling by %s: %+v, want %v", name, result, want)
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("asked %q", m.asked)
	}
	if result := r.ask(request(bashCall("1"), "bash", `{"command":"ls"}`)); result.Verdict != sdk.VerdictDeny || len(m.asked) != 1 {
		t.Errorf("%+v, asked %q", result, m.asked)
	}
	r.clean()
}

// The model judges all of a long call, or none of it.
func TestQuestionSize(t *testing.T) {
	t.Parallel()
	for size, asks := range map[int]bool{120 << 10: true, 300 << 10: false} {
		m := &model{answer: `{"ok": false}`}
		r := newModelRig(t, m, preToolUseQuestion)
		result, _ := r.before(bashCall("1"), sdk.Object{"command": strings.Repeat("é", size/2) + "; rm x"})
		if (result.Verdict == sdk.VerdictDeny) != asks || (len(m.asked) == 1) != asks || (r.failures() == "") != asks {
			t.Errorf("%d bytes: %+v, asked %d times, failures %q", size, result, len(m.asked), r.failures())
		}
		if asks && (!strings.HasSuffix(m.asked[0], "} safe?") || !strings.Contains(m.asked[0], "é; rm x")) {
			t.Errorf("%d bytes: asked %.100q", size, m.asked[0])
		}
	}
}

// A model may leave the decision to the user.
func TestQuestionAsks(t *testing.T) {
	t.Parallel()
	r := newModelRig(t, &model{answer: `{"decision": "ask", "reason": "odd"}`}, preToolUseQuestion)
	in := bashCall("1")
	r.before(in, sdk.Object{"command": "ls"})
	if result := r.ask(request(in, "bash", `{"command":"ls"}`)); result.Verdict != sdk.VerdictAsk || result.Reason != "odd" {
		t.Errorf("%+v", result)
	}
	r.clean()
}

// A source is not to blame for a model that does not answer, or not as asked.
func TestQuestionUnanswered(t *testing.T) {
	t.Parallel()
	for _, m := range []*model{{err: &sdk.Refusal{By: "rule"}}, {answer: "fine"}, {slow: true}} {
		r := newModelRig(t, m, `{"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Safe?", "timeout": 0.6}]}]}`)
		for range 5 {
			if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != sdk.VerdictAbstain {
				t.Errorf("%+v", result)
			}
		}
		if len(m.asked) != 5 { // none after a quarantine
			t.Errorf("asked %d times", len(m.asked))
		}
	}
}

// No answer of a model is a permission.
func TestJudgementAllowsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"ok": true, "decision": "approve", "hookSpecificOutput": {"permissionDecision": "allow"}}`, `{"decision": "allow", "hookSpecificOutput": {"updatedInput": {"command": "rm"}, "additionalContext": "x"}}`} {
		if blocks, err := commandhooks.ParseJudgement("PreToolUse", text); blocks || err != nil {
			t.Errorf("%s: %v, %v", text, blocks, err)
		}
		m := &model{answer: text}
		r := newModelRig(t, m, preToolUseQuestion)
		in := bashCall("1")
		if _, args := r.before(in, sdk.Object{"command": "ls"}); args["command"] != "ls" {
			t.Errorf("%s: arguments %v", text, args)
		}
		if result := r.ask(request(in, "bash", `{"command":"ls"}`)); result.Verdict != sdk.VerdictAbstain {
			t.Errorf("%s: %+v", text, result)
		}
	}
}
