package offline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/sdk"
)

const threeSteps = `[
	{"reasoning": "hm", "text": "I look.", "toolCalls": [{"tool": "read", "args": {"a": 1}}, {"tool": "bash", "args": "{\"broken\""}, {"tool": "read"}]},
	{"text": "cut of", "finish": "length"},
	{"text": "done"}
]`

func TestScript(t *testing.T) {
	t.Parallel()
	want := []answer{
		{Reasoning: "hm", Text: "I look.", Calls: []string{`read {"a": 1}`, `bash {"broken"`, "read {}"}, Reason: sdk.FinishToolCalls},
		{Text: "cut of", Reason: sdk.FinishLength},
		{Text: "done", Reason: sdk.FinishStop},
	}
	lines := `{"text": "a"}
{"text": "b"}
{"text": "c"}`
	plain := []answer{{Text: "a", Reason: "stop"}, {Text: "b", Reason: "stop"}, {Text: "c", Reason: "stop"}}
	for name, c := range map[string]struct {
		text    string
		purpose sdk.Purpose
		want    []answer
	}{
		"list": {threeSteps, sdk.PurposeTurn, want}, "for subagents": {threeSteps, sdk.PurposeSubtask, want}, "lines": {lines, sdk.PurposeTurn, plain},
		"by purpose, turn":    {`{"turn": [{"text": "a"},{"text": "b"},{"text": "c"}], "subtask": [{"text": "x"}]}`, sdk.PurposeTurn, plain},
		"by purpose, subtask": {`{"turn": [{"text": "x"}], "subtask": [{"text": "a"},{"text": "b"},{"text": "c"}]}`, sdk.PurposeSubtask, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request("go")
			req.Purpose = c.purpose
			var got []answer
			for range c.want {
				// A new client for each request: the place follows from the conversation alone.
				a, err := ask(t, script(t, c.text), req)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, a)
				if len(a.Calls) > 0 {
					run(req, "ok", false)
				} else {
					req.Messages = append(req.Messages, user("more"))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if a, err := ask(t, script(t, c.text), req); err != nil || !strings.Contains(a.Text, "no more replies: 3") {
				t.Errorf("after the end: %+v, %v", a, err)
			}
		})
	}
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	client := script(t, `[
		{"error": {"status": 429, "message": "slow down", "headers": {"retry-after": "1"}}},
		{"text": "half", "error": {"message": "gone", "cut": true}},
		{"text": "first"},
		{"error": {"status": 400, "code": "context_length_exceeded"}},
		{"text": "second"}
	]`)
	req := request("go")
	other := request("go")
	other.SessionID = "ses_2"
	var got []string
	for range 5 {
		a, err := ask(t, client, req)
		var pe *sdk.ProviderError
		if errors.As(err, &pe) {
			got = append(got, fmt.Sprintf("%s|%d %s %v %s %s", a.Text, pe.StatusCode, pe.Code, pe.Cut, pe.Message, pe.Headers["retry-after"]))
			continue
		}
		got = append(got, a.Text)
		req.Messages = append(req.Messages, user("more"))
	}
	want := []string{
		"|429  false slow down 1", "half|0  true gone ", "first", "|400 context_length_exceeded false the script fails here ", "second",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ask(t, client, other); err == nil {
		t.Error("another session does not begin at the script's beginning")
	}
}

// TestScriptGoesOnAfterASummary: the summary keeps the place.
func TestScriptGoesOnAfterASummary(t *testing.T) {
	t.Parallel()
	client := script(t, `[{"text": "one"}, {"text": "two"}, {"text": "three"}]`)
	req := request("go")
	for range 2 {
		if _, err := ask(t, client, req); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, user("more"))
	}
	compaction := *req
	compaction.Purpose = sdk.PurposeCompaction
	summary, err := ask(t, client, &compaction)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = []sdk.ModelMessage{user("What did we do so far?"), {Role: sdk.RoleAssistant, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: summary.Text}}}, user("more")}
	if a, _ := ask(t, client, req); a.Text != "three" {
		t.Errorf("after the summary: %q, want three", a.Text)
	}
}

func TestBadScripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":      {"text: hello", "invalid character"},
		"half":          {`[{"text": "a"}`, "unexpected EOF"},
		"unknown field": {`[{"text": "a"}, {"txt": "b"}]`, `step 2: json: unknown field "txt"`},
		"unknown list":  {`{"turn": [], "turns": []}`, `unknown field "turns"`},
		"in a list":     {`{"turn": [{"finish": "maybe"}]}`, `turn: step 1: finish: unknown reason "maybe"`},
		"no tool":       {`[{"toolCalls": [{"args": {}}]}]`, "step 1: toolCalls: a call has no tool"},
		"negative":      {`[{"delayMs": -1}]`, "delayMs"},
		"wrong type":    {`["hello"]`, "step 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t, script(t, c.text), request("go"))
			var pe *sdk.ProviderError
			if !errors.Is(err, offline.ErrScript) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "script.json") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if errors.As(err, &pe) {
				t.Error("a bad script is reported as a failure of a server, which would be asked again")
			}
		})
	}
	client, err := tryOpen(t, t.TempDir(), sdk.Object{"script": "missing.json"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, client, request("go")); !errors.Is(err, offline.ErrScript) || !strings.Contains(err.Error(), "missing.json") {
		t.Errorf("error %v", err)
	}
	for _, bad := range []any{"", 7.0, true} {
		if _, err := tryOpen(t, t.TempDir(), sdk.Object{"script": bad}); err == nil || !strings.Contains(err.Error(), "options.script") {
			t.Errorf("script %v: error %v", bad, err)
		}
	}
}

// FuzzScript: any script is refused with ErrScript or gives an answer.
func FuzzScript(f *testing.F) {
	f.Add([]byte(threeSteps))
	f.Add([]byte(`{"turn":[{"error":{"status":500}}],"subtask":[]}`))
	f.Add([]byte("{\"text\":\"a\"}\n{\"text\":\"b\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := ask(t, script(t, string(data)), request("go"))
		var pe *sdk.ProviderError
		if err != nil && !errors.Is(err, offline.ErrScript) && !errors.As(err, &pe) {
			t.Errorf("error %v", err)
		}
	})
}
