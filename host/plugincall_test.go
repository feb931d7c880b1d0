package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// caller is a plugin that calls tools: from its tool "outer", and from hooks that a test gives it.
type caller struct {
	*plugin
	mu      sync.Mutex
	results []string
}

func newCaller(carrier sdk.Carrier) *caller {
	return &caller{plugin: &plugin{name: "caller", carrier: carrier}}
}

// callTool calls a tool and notes what came of it.
func (c *caller) callTool(ctx context.Context, session, tool, args string) error {
	r, err := c.host.(sdk.ToolCaller).CallTool(ctx, sdk.ToolRequest{SessionID: session, Tool: tool, Args: json.RawMessage(args)})
	text := ""
	if err != nil {
		text = "error: " + err.Error()
	} else {
		text = r.Output
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, text)
	return err
}

func (c *caller) got() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.results)
}

// TestOneChokePointForPlugins has plugins of every carrier call tools of every origin, from every place where a plugin can start
// a call: each call goes the same way as the model's calls, once.
func TestOneChokePointForPlugins(t *testing.T) {
	t.Parallel()
	carriers := []sdk.Carrier{sdk.CarrierBuiltin, sdk.CarrierWASM, sdk.CarrierProcess, sdk.CarrierMCP}
	type starter struct {
		place    string // where the plugin calls from
		subagent bool
	}
	var starters []starter
	for _, place := range []string{"tool", "tool.execute.before", "tool.execute.after", "permission.ask", "chat.message", "chat.system.transform", "turn.stop"} {
		starters = append(starters, starter{place, false}, starter{place, true})
	}
	for i, s := range starters {
		t.Run(fmt.Sprintf("%s, subagent %v", s.place, s.subagent), func(t *testing.T) {
			t.Parallel()
			l := &callLog{}
			c := newCaller(carriers[i%len(carriers)])
			agent := "build"
			if s.subagent {
				agent = "helper"
			}
			var called atomic.Bool // the calls themselves come by here, too
			all := func(ctx context.Context, session, of string) {
				if of != agent || called.Swap(true) {
					return
				}
				for _, carrier := range carriers {
					if err := c.callTool(ctx, session, string(carrier)+"_tool", `{"v":"raw"}`); err != nil {
						t.Error(err)
					}
				}
			}
			c.hooks = startersAt(s.place, all)
			c.tools = []sdk.Tool{&tool{id: "outer",
				prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
					return []sdk.PermissionRequest{{Permission: "outer", Patterns: []string{"x"}}}, nil
				},
				run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					if s.place == "tool" {
						all(ctx, call.SessionID, call.Agent)
					}
					return &sdk.ToolResult{Output: "outer done"}, nil
				}}}
			m, path := newModel(t, call("outer", `{}`), say("done")), "build"
			if s.subagent {
				m, path = newModel(t, calls(ask("helper", "x")), say("done")).on(sdk.PurposeSubtask, call("outer", `{}`), say("ok")), "build/helper"
			}
			plugins := []sdk.Plugin{delegating(m)}
			for _, carrier := range carriers {
				plugins = append(plugins, &plugin{name: "of-" + string(carrier), carrier: carrier, tools: []sdk.Tool{l.tool(string(carrier) + "_tool")}})
			}
			k := start(t, nil, append(plugins, l.watcher(), c)...)
			sub := k.Subscribe(4096, false)
			id, _ := k.prompt("go")
			if s.subagent {
				id = k.children(id)[0].ID
			}
			for _, carrier := range carriers {
				tool, args := string(carrier)+"_tool", `{"v":"changed"}`
				want(t, tool, []string{
					fmt.Sprintf("before %s %s", carrier, path), "prepare " + args, "permission " + args, "run " + args, "after ok " + args + " out of " + tool,
				}, l.of(tool))
			}
			want(t, "results", []string{"out of builtin_tool", "out of wasm_tool", "out of process_tool", "out of mcp_tool"}, c.got())
			for _, p := range k.toolParts(id) {
				if p.Tool != "outer" && p.Tool != "task" {
					t.Errorf("the call of %s is in the conversation, and the model did not make it", p.Tool)
				}
			}
			want(t, "ledger", []string{"builtin_tool ok", "wasm_tool ok", "process_tool ok", "mcp_tool ok"}, k.pluginCalls(id))
			e := next(t, sub, func(e sdk.Event) bool { return e.Type == "plugin.tool.updated" })
			if info := *e.Properties.(*sdk.Object); info["plugin"] != "caller" || info["tool"] != "builtin_tool" || info["sessionID"] != id {
				t.Errorf("event %+v, want who called what", info)
			}
		})
	}
}

// startersAt returns the hooks that call f from a place.
func startersAt(place string, f func(ctx context.Context, session, agent string)) []sdk.Hook {
	of := map[string]sdk.Hook{
		"tool.execute.before": sdk.OnToolBefore(func(ctx context.Context, in *sdk.ToolInput, _ *sdk.ToolBeforeValue) error {
			f(ctx, in.SessionID, in.Agent)
			return nil
		}),
		"tool.execute.after": sdk.OnToolAfter(func(ctx context.Context, in *sdk.ToolAfterInput, _ *sdk.ToolAfterValue) error {
			f(ctx, in.SessionID, in.Agent)
			return nil
		}),
		"permission.ask": sdk.OnPermissionAsk(func(ctx context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
			f(ctx, in.SessionID, in.Agent)
			return sdk.Decision{}, nil
		}),
		"chat.message": sdk.OnChatMessage(func(ctx context.Context, in *sdk.ChatMessageInput, _ *sdk.ChatMessageValue) error {
			f(ctx, in.SessionID, in.Agent)
			return nil
		}),
		"chat.system.transform": sdk.OnChatSystem(func(ctx context.Context, in *sdk.ChatInput, _ *sdk.ChatSystemValue) error {
			f(ctx, in.SessionID, in.Agent)
			return nil
		}),
		"turn.stop": sdk.OnTurnStop(func(ctx context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
			f(ctx, in.SessionID, in.Message.Agent)
			return sdk.StopDecision{}, nil
		}),
	}
	if h, ok := of[place]; ok {
		return []sdk.Hook{h}
	}
	return nil
}

// pluginCalls returns the tool calls of plugins that the ledger of a session has.
func (k *kit) pluginCalls(session string) []string {
	k.t.Helper()
	rows, err := k.store.Ledger(k.t.Context(), session, "")
	if err != nil {
		k.t.Fatal(err)
	}
	var out []string
	for _, row := range rows {
		var entries []hooks.Entry
		if err := json.Unmarshal(row.Entries, &entries); err != nil {
			k.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Point == "tool.call" {
				out = append(out, e.Hook+" "+string(e.Outcome))
				continue
			}
			if e.Point == sdk.PointToolBefore && e.Plugin == "watcher" && e.Subject == "" {
				k.t.Errorf("entry %+v does not say which call", e)
			}
		}
	}
	return out
}

// TestPluginCallsInCircles has calls that lead to themselves: they end with an error, and the turn goes on.
func TestPluginCallsInCircles(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		context func(t *testing.T, ctx context.Context) context.Context
		deep    int
		want    string
	}{
		"in this process":                  {func(_ *testing.T, ctx context.Context) context.Context { return ctx }, 8, "nested more than 8 deep"},
		"over a wire that has no contexts": {func(t *testing.T, _ context.Context) context.Context { return t.Context() }, 65, "more than 64 plugin requests"},
	}
	for name, c := range cases {
		for _, place := range []string{"tool", "hook"} {
			t.Run(name+", from a "+place, func(t *testing.T) {
				t.Parallel()
				p := newCaller(sdk.CarrierProcess)
				if place == "hook" {
					h := sdk.OnToolBefore(func(ctx context.Context, in *sdk.ToolInput, _ *sdk.ToolBeforeValue) error {
						_ = p.callTool(c.context(t, ctx), in.SessionID, "outer", `{}`)
						return nil
					})
					h.Timeout = 30 * time.Second
					p.hooks = []sdk.Hook{h}
				}
				runs := 0
				p.tools = []sdk.Tool{&tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					runs++
					if place == "tool" {
						_ = p.callTool(c.context(t, ctx), call.SessionID, "outer", `{}`)
					}
					return &sdk.ToolResult{Output: "ok"}, nil
				}}}
				m := newModel(t, call("outer", `{}`), say("done"))
				k := start(t, nil, base(m), p)
				_, got := k.prompt("go")
				want(t, "answer", "done", textOf(got))
				if r := p.got(); len(r) != c.deep || !strings.Contains(r[0], c.want) {
					t.Errorf("%d calls, the innermost %q; want %d and %q", len(r), r[0], c.deep, c.want)
				}
				if runs != c.deep {
					t.Errorf("the tool ran %d times, want %d", runs, c.deep)
				}
			})
		}
	}
}

// TestPluginCallIsRefused checks that everything that refuses a call of the model also refuses a call of a plugin.
func TestPluginCallIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change  func(*host.Options)
		hooks   []sdk.Hook
		tool    string
		args    string
		by      string // of the refusal; empty: it is another error
		want    string
		rejects bool
	}{
		"by a rule": {change: func(o *host.Options) {
			o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "act", Pattern: "secret", Action: sdk.ActionDeny})
		}, by: "rule", want: `permission "act" is denied for "secret"`},
		"headless": {change: func(o *host.Options) { o.Config.Permission = nil }, by: "headless", want: "no user can answer"},
		"by a hook": {hooks: []sdk.Hook{sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, _ *sdk.ToolBeforeValue) error {
			if in.Tool == "act" {
				return sdk.Deny("not this")
			}
			return nil
		})}, by: "plugin first", want: "not this"},
		"by a gate": {hooks: []sdk.Hook{sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
			if in.Permission != "act" {
				return sdk.Decision{}, nil
			}
			return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: "never"}, nil
		})}, by: "plugin first", want: "never"},
		"by the user":   {change: asking, by: "user", want: "was rejected", rejects: true},
		"bad arguments": {args: `{"n":"x"}`, want: "do not match its schema"},
		"no arguments":  {args: `nonsense`, want: "not valid JSON"},
		"unknown tool":  {tool: "nothing", want: `tool "nothing" not found; the tools are: act, outer`},
		"removed by a rule": {change: func(o *host.Options) {
			o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "act", Pattern: "*", Action: sdk.ActionDeny})
		}, want: `tool "act" not found`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newCaller(sdk.CarrierWASM)
			var failure error
			p.tools = []sdk.Tool{
				&tool{id: "act", schema: `{"type":"object","properties":{"n":{"type":"integer"}}}`,
					prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
						return []sdk.PermissionRequest{{Permission: "act", Patterns: []string{"secret"}}}, nil
					},
					run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
						t.Error("the call ran")
						return &sdk.ToolResult{}, nil
					}},
				&tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					name, args := "act", `{"n":1}`
					if c.tool != "" {
						name = c.tool
					}
					if c.args != "" {
						args = c.args
					}
					failure = p.callTool(ctx, call.SessionID, name, args)
					return &sdk.ToolResult{Output: "outer"}, nil
				}}}
			m := newModel(t, call("outer", `{}`))
			if !c.rejects {
				m.on(sdk.PurposeTurn, say("done"))
			}
			k := start(t, withOuter(c.change), base(m), &plugin{name: "first", hooks: c.hooks}, p)
			sub := k.Subscribe(4096, false)
			id := k.session()
			if c.rejects {
				go func() {
					e := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
					if e.Metadata["plugin"] != "caller" {
						t.Errorf("the request %+v does not say that a plugin asks", e)
					}
					if err := k.ReplyPermission(e.ID, sdk.ReplyReject, ""); err != nil {
						t.Error(err)
					}
				}()
			}
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if (err != nil) != c.rejects {
				t.Errorf("Prompt = %v, want a turn that ends when the user rejects, and only then", err)
			}
			var refusal *sdk.Refusal
			if errors.As(failure, &refusal) != (c.by != "") || refusal != nil && refusal.By != c.by {
				t.Errorf("CallTool = %#v, want a refusal by %q", failure, c.by)
			}
			if failure == nil || !strings.Contains(failure.Error(), c.want) {
				t.Errorf("CallTool = %v, want %q", failure, c.want)
			}
		})
	}
}

// TestPluginCallOfSubagent: the call is limited to what the subagent may do, not to what the main agent may do.
func TestPluginCallOfSubagent(t *testing.T) {
	t.Parallel()
	c := newCaller(sdk.CarrierMCP)
	act := &tool{id: "act", prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
		return []sdk.PermissionRequest{{Permission: "act", Patterns: []string{"x"}}}, nil
	}, run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: "acted"}, nil
	}}
	c.tools = []sdk.Tool{act, &tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		_ = c.callTool(ctx, call.SessionID, "act", `{}`)
		return &sdk.ToolResult{Output: "outer"}, nil
	}}}
	m := newModel(t, calls(toolCall{id: "c1", tool: "outer", args: `{}`}), calls(ask("helper", "x")), say("done")).on(sdk.PurposeSubtask, call("outer", `{}`), say("ok"))
	k := start(t, func(o *host.Options) {
		o.Config.Agent = map[string]sdk.AgentConfig{"helper": {Permission: sdk.PermissionRules{{Permission: "act", Pattern: "x", Action: sdk.ActionDeny}}}}
	}, delegating(m), c)
	k.prompt("go")
	got := c.got()
	if len(got) != 2 || got[0] != "acted" || !strings.Contains(got[1], `permission "act" is denied`) {
		t.Errorf("calls gave %q, want that the subagent's is denied", got)
	}
}

func TestPluginCallEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	c := newCaller(sdk.CarrierWASM)
	running, over := make(chan string, 1), make(chan error, 1)
	c.tools = []sdk.Tool{&tool{id: "slow", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		running <- call.SessionID
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	m := newModel(t, answer{text: "hm", hold: make(chan struct{})})
	// The store is slow with the ledger: the next prompt comes before it is stored.
	k := faultyKit(t, &faulty{claimed: make(chan struct{})}, base(m), c)
	sub := k.Subscribe(4096, false)
	id := k.session()
	done := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		done <- err
	}()
	next(t, sub, ofType(sdk.EventPartDelta)) // the model is asked, so the turn runs
	go func() { over <- c.callTool(t.Context(), id, "slow", `{}`) }()
	want(t, "session of the call", id, <-running)
	k.Abort(id)
	if err := <-over; err == nil || !strings.Contains(err.Error(), "aborted") {
		t.Errorf("CallTool = %v, want that it was aborted", err)
	}
	if err := <-done; err == nil {
		t.Error("the aborted prompt was answered")
	}
	m.on(sdk.PurposeTurn, say("done"))
	k.again(id, "once more")
	want(t, "ledger", []string{"slow aborted"}, k.pluginCalls(id))
	if err := c.callTool(t.Context(), id, "slow", `{}`); !errors.Is(err, host.ErrNoTurn) {
		t.Errorf("CallTool after the turn = %v, want ErrNoTurn", err)
	}
	for _, id := range []string{"", "ses_none"} {
		if err := c.callTool(t.Context(), id, "slow", `{}`); !errors.Is(err, host.ErrNoTurn) {
			t.Errorf("CallTool in session %q = %v, want ErrNoTurn", id, err)
		}
	}
}

// TestPluginGetsTheWholeResult: the limit applies to the result in the conversation, not to the one that a plugin
// gets, and the hooks see it.
func TestPluginGetsTheWholeResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line of output\n", 10_000)
	c := newCaller(sdk.CarrierProcess)
	c.tools = []sdk.Tool{
		&tool{id: "big", run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			call.Host.Progress("half", sdk.Object{"n": 1})
			return &sdk.ToolResult{Output: long, Metadata: sdk.Object{"files": []string{"/a"}}}, nil
		}},
		&tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{}, c.callTool(ctx, call.SessionID, "big", ``)
		}}}
	clean := sdk.OnToolAfter(func(_ context.Context, in *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
		v.Output = strings.ReplaceAll(v.Output, "output", "******")
		return nil
	})
	m := newModel(t, call("outer", `{}`), say("done"))
	k := start(t, nil, base(m), c, &plugin{name: "redactor", hooks: []sdk.Hook{clean}})
	sub := k.Subscribe(4096, false)
	k.prompt("go")
	if got := c.got()[0]; got != strings.ReplaceAll(long, "output", "******") {
		t.Errorf("%d bytes, want the %d the hook left", len(got), len(long))
	}
	progress := next(t, sub, func(e sdk.Event) bool {
		info, ok := e.Properties.(*sdk.Object)
		return ok && (*info)["title"] == "half"
	})
	want(t, "type", "plugin.tool.updated", progress.Type)
	want(t, "edited", &sdk.FileEdited{File: "/a"}, next(t, sub, ofType(sdk.EventFileEdited)).Properties.(*sdk.FileEdited))
}
