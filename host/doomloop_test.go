package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// TestDoomLoop repeats calls over steps without a user: refused once, the turn ends at the second.
func TestDoomLoop(t *testing.T) {
	t.Parallel()
	same := []answer{call("echo", `{"n":1}`)}
	pair := []answer{call("echo", `{"n":1}`), call("echo", `{"n":2}`)}
	cases := map[string]struct {
		cycle  []answer
		auto   bool
		ran    int // calls before the first refusal
		period string
	}{
		"the same call":          {same, false, 2, "the same call was made 3 times"},
		"two by turns":           {pair, false, 5, "the same cycle of 2 calls was made 3 times"},
		"auto does not allow it": {same, true, 2, "the same call was made 3 times"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := slices.Repeat(c.cycle, 5)[:c.ran+2]
			m := newModel(t, script...)
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			k := start(t, func(o *host.Options) {
				o.AutoApprove = c.auto
				o.Config.Permission = sdk.PermissionRules{
					{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}, {Permission: "doom_loop", Pattern: "*", Action: sdk.ActionAsk},
				}
			}, b)
			id := k.session()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if err == nil || !strings.Contains(err.Error(), c.period) {
				t.Errorf("Prompt = %v, want an error with %q", err, c.period)
			}
			if strings.Contains(err.Error(), "--auto") {
				t.Errorf("Prompt = %v, which names a flag that does not help", err)
			}
			for i, p := range k.toolParts(id) {
				if ran := p.State.Status == sdk.ToolCompleted; ran != (i < c.ran) {
					t.Errorf("call %d is %s %q, want that the first %d ran", i, p.State.Status, p.State.Error, c.ran)
				}
			}
		})
	}
}

// TestDoomLoopOfFailures repeats calls that never run. They end the turn like those that do.
func TestDoomLoopOfFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call answer
		says string // the result of the first two calls
	}{
		"unknown tool":      {call("nothing", `{"n":1}`), "tool \"nothing\" not found"},
		"arguments cut off": {call("strict", `{"n":`), "not valid JSON"},
		"against schema":    {call("strict", `{"m":1}`), "do not match its schema"},
		"denied by a hook":  {call("strict", `{"n":1}`), "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := base(newModel(t, slices.Repeat([]answer{c.call}, 4)...))
			strict := echo("strict")
			strict.schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
			b.tools = []sdk.Tool{strict}
			b.hooks = []sdk.Hook{sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error {
				if name == "denied by a hook" {
					return &sdk.Refusal{Reason: "not today"}
				}
				return nil
			})}
			k := start(t, func(o *host.Options) {
				o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "doom_loop", Pattern: "*", Action: sdk.ActionAsk})
			}, b)
			id := k.session()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if err == nil || !strings.Contains(err.Error(), "the same call was made 3 times") {
				t.Errorf("Prompt = %v, want that it ends by the loop", err)
			}
			for i, p := range k.toolParts(id) {
				want := c.says
				if i >= 2 {
					want = "was made 3 times in a row"
				}
				if !strings.Contains(p.State.Error, want) {
					t.Errorf("call %d: %q, want %q", i, p.State.Error, want)
				}
			}
		})
	}
}

// TestDoomLoopInOneAnswer: the model reads the refusal before the turn ends.
func TestDoomLoopInOneAnswer(t *testing.T) {
	t.Parallel()
	b := base(newModel(t, calls(slices.Repeat([]toolCall{{tool: "echo", args: `{}`}}, 5)...), say("done")))
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, func(o *host.Options) {
		o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "doom_loop", Pattern: "*", Action: sdk.ActionAsk})
	}, b)
	if _, got := k.prompt("go"); textOf(got) != "done" {
		t.Errorf("answer = %q", textOf(got))
	}
}

// TestUnknownToolKeepsItsArguments: the model must see the call that it made.
func TestUnknownToolKeepsItsArguments(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("nothing", `{"n":1}`), say("done"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("go")
	if got := string(k.toolParts(id)[0].State.Input); got != `{"n":1}` {
		t.Errorf("stored arguments %s", got)
	}
	sent := m.of(sdk.PurposeTurn)[1].Messages
	var calls []string
	for _, message := range sent {
		for _, content := range message.Content {
			if content.Type == sdk.ContentToolCall {
				calls = append(calls, string(content.Args))
			}
		}
	}
	if len(calls) != 1 || calls[0] != `{"n":1}` {
		t.Errorf("calls in the next request: %q", calls)
	}
}

// TestDoomLoopAsksTheUser lets the model continue, and starts counting again.
func TestDoomLoopAsksTheUser(t *testing.T) {
	t.Parallel()
	m := newModel(t, slices.Repeat([]answer{call("echo", `{}`)}, 6)...).on(sdk.PurposeTurn, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, func(o *host.Options) {
		o.Interactive = true
		o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "doom_loop", Pattern: "*", Action: sdk.ActionAsk})
	}, b)
	once := reply(&k, sdk.ReplyOnce, "")
	asked := answerAsks(t, k, once, once)
	k.prompt("go")
	if n := asked(); n != 2 {
		t.Errorf("asked %d times in 6 calls, want 2", n)
	}
}
