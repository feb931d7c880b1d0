package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// TestOneQuestionForACall: the user's answer to a call's first request counts for those that it shows, unless a rule or a gate wants another.
func TestOneQuestionForACall(t *testing.T) {
	t.Parallel()
	rule := func(permission string, a sdk.Action) sdk.PermissionRules {
		return sdk.PermissionRules{{Permission: permission, Pattern: "*", Action: a}}
	}
	gate := sdk.OnPermissionAsk(func(_ context.Context, r *sdk.PermissionRequest) (sdk.Decision, error) {
		if r.Permission == "edit" {
			return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: "look at it"}, nil
		}
		return sdk.Decision{}, nil
	})
	observer := sdk.OnEvent(func(context.Context, *sdk.Event) error { return nil }) // gets a copy of each request
	for name, c := range map[string]struct {
		file    string
		change  func(*host.Options)
		hooks   []sdk.Hook
		replies []sdk.Reply // to the questions of two calls
		want    string      // in the result of the first call
	}{
		"once":            {replies: []sdk.Reply{"once", "once"}, want: "ran"},
		"no":              {replies: []sdk.Reply{"reject"}, want: "rejected"},
		"always":          {replies: []sdk.Reply{"always", "once"}, want: "ran"}, // the second call is asked about its edit
		"allowed by rule": {change: func(o *host.Options) { o.Config.Permission = rule("bash", sdk.ActionAllow) }, replies: []sdk.Reply{"once", "once"}, want: "ran"},
		"denied":          {change: func(o *host.Options) { o.Config.Permission = rule("edit", sdk.ActionDeny) }, want: `"edit" is denied`},
		"guarded":         {file: ".vscode/tasks.json", replies: []sdk.Reply{"once", "once", "once", "reject"}, want: "ran"},
		"a gate":          {hooks: []sdk.Hook{gate}, replies: []sdk.Reply{"once", "once", "once", "reject"}, want: "ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.file == "" {
				c.file = "notes.txt"
			}
			tl := &tool{id: "run_it", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
				return &sdk.ToolResult{Output: "ran"}, nil
			}}
			tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
				agreed := new(bool)
				return []sdk.PermissionRequest{
					{Permission: "bash", Patterns: []string{"echo > f"}, Always: []string{"echo *"}, Agreed: agreed},
					{Permission: "edit", Patterns: []string{c.file}, Agreed: agreed},
				}, nil
			}
			b := base(newModel(nil, calls(toolCall{tool: "run_it", args: `{}`}, toolCall{tool: "run_it", args: `{"again": true}`}), say("done")))
			b.tools = []sdk.Tool{tl}
			k := start(t, func(o *host.Options) {
				asking(o)
				o.Config.Permission = nil
				if c.change != nil {
					c.change(o)
				}
			}, b, &plugin{name: "gate", hooks: append(c.hooks, observer)})
			var script []func(*sdk.PermissionRequest) error
			for _, r := range c.replies {
				script = append(script, reply(&k, r, ""))
			}
			asked := answerAsks(t, k, script...)
			id := k.session()
			_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}) // a rejection ends the turn
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
			if n := asked(); n != len(c.replies) {
				t.Errorf("asked %d times, want %d", n, len(c.replies))
			}
		})
	}
}
