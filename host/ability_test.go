package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// asker is a plugin whose tool "outer" runs f with the plugin's host.
func asker(f func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (string, error)) *plugin {
	p := &plugin{name: "asker", carrier: sdk.CarrierProcess}
	p.tools = []sdk.Tool{&tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		text, err := f(ctx, p.host, call)
		return &sdk.ToolResult{Output: text}, err
	}}}
	return p
}

func TestPluginReadsSession(t *testing.T) {
	t.Parallel()
	var during []sdk.MessageWithParts
	p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (_ string, err error) {
		during, err = h.(sdk.SessionReader).SessionMessages(ctx, call.SessionID)
		return "read", err
	})
	k := start(t, nil, base(newModel(t, call("outer", `{}`), say("done"))), p)
	id, _ := k.prompt("go")
	if len(during) != 2 || textOf(&during[0]) != "go" {
		t.Errorf("%d messages during the turn, want the prompt and the step", len(during))
	}
	reader := p.host.(sdk.SessionReader)
	after, err := reader.SessionMessages(t.Context(), id)
	if err != nil || len(after) != 3 || textOf(&after[2]) != "done" {
		t.Errorf("SessionMessages after the turn = %d messages, %v, want 3", len(after), err)
	}
	if _, err := reader.SessionMessages(t.Context(), "ses_none"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("SessionMessages of an unknown session = %v, want ErrNotFound", err)
	}
}

func TestPluginAsksForLeave(t *testing.T) {
	t.Parallel()
	gate := sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
		if in.Permission == "gated" {
			return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: "never"}, nil
		}
		return sdk.Decision{}, nil
	})
	cases := map[string]struct {
		change  func(*host.Options)
		request sdk.PermissionRequest
		reply   sdk.Reply
		message string
		want    string // of the error; empty: granted
		ends    bool   // the turn
	}{
		"allowed by a rule": {request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"staging"}}},
		"denied by a rule": {change: func(o *host.Options) {
			o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "deploy", Pattern: "prod", Action: sdk.ActionDeny})
		}, request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"prod"}}, want: `permission "deploy" is denied for "prod"`},
		"denied by a gate":   {request: sdk.PermissionRequest{Permission: "gated", Patterns: []string{"x"}}, want: "never"},
		"headless":           {change: func(o *host.Options) { o.Config.Permission = nil }, request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"x"}}, want: "no user can answer"},
		"allowed by a user":  {change: asking, request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"x"}}, reply: sdk.ReplyOnce},
		"rejected by a user": {change: asking, request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"x"}}, reply: sdk.ReplyReject, want: "was rejected", ends: true},
		"told otherwise":     {change: asking, request: sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"x"}}, reply: sdk.ReplyReject, message: "later", want: "later"},
		"without a pattern":  {request: sdk.PermissionRequest{Permission: "deploy"}, want: "at least one pattern"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answer error
			p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (string, error) {
				c.request.SessionID, c.request.Always = call.SessionID, append([]string{"*"}, c.request.Patterns...)
				c.request.Metadata = sdk.Object{"plugin": "files", "template": "/of-yours", "note": "mine"} // it passes for others
				answer = h.(sdk.Asker).AskPermission(ctx, c.request)
				return "asked", nil
			})
			m := newModel(t, call("outer", `{}`))
			if !c.ends {
				m.on(sdk.PurposeTurn, say("done"))
			}
			k := start(t, withOuter(c.change), base(m), p, &plugin{name: "gate", hooks: []sdk.Hook{gate}})
			sub := k.Subscribe(4096, false)
			if c.reply != "" {
				go func() {
					r := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
					if r.Agent != "build" || r.Metadata["plugin"] != "asker" || r.Metadata["template"] != nil || r.Metadata["note"] != "mine" || r.Permission != "deploy" {
						t.Errorf("the user is asked %+v, want who asks for what", r)
					}
					want(t, "what always would allow", []string{"x"}, r.Always)
					if err := k.ReplyPermission(r.ID, c.reply, c.message); err != nil {
						t.Error(err)
					}
				}()
			}
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "go"})
			if (err != nil) != c.ends {
				t.Errorf("Prompt = %v", err)
			}
			var refusal *sdk.Refusal
			switch {
			case c.want == "":
				if answer != nil {
					t.Errorf("AskPermission = %v, want leave", answer)
				}
			case answer == nil || !strings.Contains(answer.Error(), c.want) || name != "without a pattern" && !errors.As(answer, &refusal):
				t.Errorf("AskPermission = %v, want a refusal: %s", answer, c.want)
			}
		})
	}
}

// TestRejectionBesideTheCallsEndsTheTurn has a hook of a request ask the user, who rejects: the model is not asked.
func TestRejectionBesideTheCallsEndsTheTurn(t *testing.T) {
	t.Parallel()
	p := &plugin{name: "asker"}
	h := sdk.OnChatMessage(func(ctx context.Context, in *sdk.ChatMessageInput, _ *sdk.ChatMessageValue) error {
		_ = p.host.(sdk.Asker).AskPermission(ctx, sdk.PermissionRequest{SessionID: in.SessionID, Permission: "deploy", Patterns: []string{"x"}})
		return nil
	})
	h.Timeout = sdk.MaxHookTimeout
	p.hooks = []sdk.Hook{h}
	k := start(t, asking, base(newModel(t)), p)
	sub := k.Subscribe(4096, false)
	go func() {
		r := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
		if err := k.ReplyPermission(r.ID, sdk.ReplyReject, ""); err != nil {
			t.Error(err)
		}
	}()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "go"}); err == nil || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("Prompt = %v, want that the user rejected", err)
	}
}

// TestCanceledRequestEndsNoTurn has a plugin cancel its own request before it is made, and while a hook of another plugin runs: the request
// fails, and the user's turn continues.
func TestCanceledRequestEndsNoTurn(t *testing.T) {
	t.Parallel()
	for _, place := range []sdk.Point{"", sdk.PointPermissionAsk, sdk.PointToolBefore, sdk.PointShellEnv} {
		t.Run("canceled at "+string(place), func(t *testing.T) {
			t.Parallel()
			var cancel context.CancelFunc
			var failure error
			p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (string, error) {
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
				if place == "" {
					cancel()
					failure = h.(sdk.Asker).AskPermission(ctx, sdk.PermissionRequest{SessionID: call.SessionID, Permission: "act", Patterns: []string{"x"}})
					return "asked", nil
				}
				_, failure = h.(sdk.ToolCaller).CallTool(ctx, sdk.ToolRequest{SessionID: call.SessionID, Tool: "act", Args: []byte("{}")})
				return "asked", nil
			})
			p.tools = append(p.tools, &tool{id: "act",
				prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
					return []sdk.PermissionRequest{{Permission: "act", Patterns: []string{"x"}}}, nil
				},
				run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					_, err := call.Host.(sdk.Shell).ShellEnv(ctx, "")
					return &sdk.ToolResult{}, err
				}})
			at := func(ctx context.Context, p sdk.Point, act bool) error {
				if p != place || !act {
					return nil
				}
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}
			guard := &plugin{name: "guard", hooks: []sdk.Hook{
				sdk.OnPermissionAsk(func(ctx context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
					return sdk.Decision{}, at(ctx, sdk.PointPermissionAsk, in.Permission == "act")
				}),
				sdk.OnToolBefore(func(ctx context.Context, in *sdk.ToolInput, _ *sdk.ToolBeforeValue) error {
					return at(ctx, sdk.PointToolBefore, in.Tool == "act")
				}),
				sdk.OnShellEnv(func(ctx context.Context, _ *sdk.ShellEnvInput, _ *sdk.ShellEnvValue) error {
					return at(ctx, sdk.PointShellEnv, true)
				}),
			}}
			if place == "" {
				guard.hooks = nil
			}
			k := start(t, withOuter(nil), base(newModel(t, call("outer", `{}`), say("done"))), p, guard)
			_, got := k.prompt("go")
			want(t, "answer", "done", textOf(got))
			if !errors.Is(failure, context.Canceled) {
				t.Errorf("the request failed with %v, want that it was canceled", failure)
			}
		})
	}
}

func TestPluginAsksTheUser(t *testing.T) {
	t.Parallel()
	questions := []sdk.Question{{Question: "Which?", Header: "Which", Options: []sdk.QuestionOption{{Label: "a"}, {Label: "b"}}}}
	for _, interactive := range []bool{true, false} {
		t.Run(fmt.Sprintf("interactive %v", interactive), func(t *testing.T) {
			t.Parallel()
			var answers [][]string
			var failure error
			p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (string, error) {
				answers, failure = h.(sdk.UserQuestioner).AskUser(ctx, call.SessionID, questions)
				return "asked", nil
			})
			k := start(t, func(o *host.Options) { o.Interactive = interactive }, base(newModel(t, call("outer", `{}`), say("done"))), p)
			sub := k.Subscribe(4096, false)
			if interactive {
				go func() {
					q := next(t, sub, ofType(sdk.EventQuestionAsked)).Properties.(*sdk.QuestionRequest)
					if err := k.ReplyQuestion(q.ID, [][]string{{"b"}}); err != nil {
						t.Error(err)
					}
				}()
			}
			k.prompt("go")
			if interactive {
				want(t, "answers", [][]string{{"b"}}, answers)
			} else if !errors.Is(failure, sdk.ErrHeadless) {
				t.Errorf("AskUser = %v, want ErrHeadless", failure)
			}
			if _, err := p.host.(sdk.UserQuestioner).AskUser(t.Context(), k.session(), questions); !errors.Is(err, host.ErrNoTurn) {
				t.Errorf("AskUser without a turn = %v, want ErrNoTurn", err)
			}
		})
	}
}

// TestPluginEvents: a subscriber that does not keep up loses the oldest events, and a subscription ends with its context,
// the plugin or the host.
func TestPluginEvents(t *testing.T) {
	t.Parallel()
	p := &plugin{name: "listener"}
	k := start(t, nil, base(newModel(t)), p)
	source := p.host.(sdk.EventSource)
	ctx, cancel := context.WithCancel(t.Context())
	few, all := source.Events(ctx, 2), source.Events(t.Context(), 0)
	var ids []string
	for range 5 {
		ids = append(ids, k.session())
	}
	created := func(e sdk.Event) string { return e.Properties.(*sdk.SessionInfo).SessionID }
	for i := range 2 {
		want(t, "what a slow one gets", ids[3+i], created(<-few))
	}
	for i := range 5 {
		want(t, "what another gets", ids[i], created(<-all))
	}
	cancel()
	if e, open := <-few; open {
		t.Errorf("%+v after the context ended", e)
	}
	if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: k.opts.Plugins[:1]}); err != nil {
		t.Fatal(err)
	}
	if e, open := <-all; open {
		t.Errorf("%+v after the plugin was closed", e)
	}
	if _, open := <-source.Events(t.Context(), 1); open {
		t.Error("a closed plugin subscribes")
	}
}

func TestEventsEndWithTheHost(t *testing.T) {
	t.Parallel()
	p := &plugin{name: "listener"}
	k := start(t, nil, base(newModel(t)), p)
	events := p.host.(sdk.EventSource).Events(t.Context(), 10)
	k.close()
	for e := range events {
		t.Logf("left: %s", e.Type)
	}
}

// withOuter lets the tool outer run, whatever else changes in the options: the tests are about what the plugin does inside the tool.
func withOuter(change func(*host.Options)) func(*host.Options) {
	return func(o *host.Options) {
		if change != nil {
			change(o)
		}
		o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "outer", Pattern: "*", Action: sdk.ActionAllow})
	}
}
