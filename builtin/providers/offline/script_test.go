package offline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/sdk"
)

const threeSteps = `[
	{"reasoning": "hm", "text": "I look.", "toolCalls": [{"tool": "read", "args": {"a": 1}}, {"tool": "bash", "args": "{\"broken\""}, {"tool": "read"}]},
	{"text": "more"},
	{"text": "done"}
]`

func TestScript(t *testing.T) {
	t.Parallel()
	want := []answer{
		{Reasoning: "hm", Text: "I look.", Calls: []string{`read {"a": 1}`, `bash {"broken"`, "read {}"}, Reason: sdk.FinishToolCalls},
		{Text: "more", Reason: sdk.FinishStop},
		{Text: "done", Reason: sdk.FinishStop},
	}
	var got []answer
	req := request("go")
	for range want {
		// A new client for each request: the place follows from the conversation alone.
		a, err := ask(t, script(t, threeSteps), req)
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a, err := ask(t, script(t, threeSteps), req); err != nil || !strings.Contains(a.Text, "no more replies: 3") {
		t.Errorf("after the end: %+v, %v", a, err)
	}
	subtask := request("read {}")
	subtask.Purpose = sdk.PurposeSubtask
	if a, err := ask(t, script(t, threeSteps), subtask); err != nil || !slices.Equal(a.Calls, []string{"read {}"}) {
		t.Errorf("a subagent: %+v, %v, want the call in its prompt", a, err)
	}
}

func TestBadScripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":      {"text: hello", "invalid character"},
		"half":          {`[{"text": "a"}`, "unexpected end"},
		"no list":       {`{"text": "a"}`, "want a JSON list of steps"},
		"unknown field": {`[{"text": "a"}, {"txt": "b"}]`, `step 2: json: unknown field "txt"`},
		"no tool":       {`[{"toolCalls": [{"args": {}}]}]`, "step 1: toolCalls: a call has no tool"},
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
	f.Add([]byte(`[{"toolCalls":[{"tool":"a","args":"x"}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := ask(t, script(t, string(data)), request("go"))
		if err != nil && !errors.Is(err, offline.ErrScript) {
			t.Errorf("error %v", err)
		}
	})
}
