package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// log records what happened, in order, by tool.
type callLog struct {
	mu    sync.Mutex
	steps map[string][]string
}

func (l *callLog) add(tool, step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.steps == nil {
		l.steps = map[string][]string{}
	}
	l.steps[tool] = append(l.steps[tool], step)
}

func (l *callLog) of(tool string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.steps[tool])
}

// watcher hooks the three points of a tool call. Its before hook turns {"v":"raw"} into {"v":"changed"}.
func (l *callLog) watcher() *plugin {
	return &plugin{name: "watcher", hooks: []sdk.Hook{
		sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
			l.add(in.Tool, fmt.Sprintf("before %s %s", in.Origin.Carrier, in.AgentPath))
			if v.Args["v"] == "raw" {
				v.Args["v"] = "changed"
			}
			return nil
		}),
		sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
			l.add(in.Permission, "permission "+string(in.Args))
			return sdk.Decision{}, nil
		}),
		sdk.OnToolAfter(func(_ context.Context, in *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
			l.add(in.Tool, fmt.Sprintf("after %s %s %s", in.Outcome, in.Args, v.Output))
			return nil
		}),
	}}
}

// tool returns a tool that accepts only {"v":"changed"} and notes its calls.
func (l *callLog) tool(id string) *tool {
	return &tool{
		id: id, schema: `{"type":"object","properties":{"v":{"const":"changed"}},"required":["v"]}`,
		prepare: func(call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			l.add(id, "prepare "+string(call.Args))
			return []sdk.PermissionRequest{{Permission: id, Patterns: []string{"x"}}}, nil
		},
		run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			l.add(id, "run "+string(call.Args))
			return &sdk.ToolResult{Output: "out of " + id}, nil
		},
	}
}

// TestOneChokePoint calls tools of every origin in every way that starts a call: each call passes the hooks, the schema, the permissions
// and the tool once, in the same order, with the arguments that the hook changed.
func TestOneChokePoint(t *testing.T) {
	t.Parallel()
	carriers := []sdk.Carrier{sdk.CarrierBuiltin, sdk.CarrierWASM, sdk.CarrierProcess, sdk.CarrierMCP}
	var all []toolCall
	for _, c := range carriers {
		all = append(all, toolCall{tool: string(c) + "_tool", args: `{"v":"raw"}`})
	}
	yes := true
	starters := map[string]struct {
		turn, subtask []answer
		path          string
		interactive   bool
		command       string
	}{
		"main agent with a user":  {turn: []answer{calls(all...), say("done")}, path: "build", interactive: true},
		"main agent headless":     {turn: []answer{calls(all...), say("done")}, path: "build"},
		"subagent":                {turn: []answer{calls(ask("helper", "x")), say("done")}, subtask: []answer{calls(all...), say("ok")}, path: "build/helper"},
		"subtask of a command":    {turn: []answer{say("done")}, subtask: []answer{calls(all...), say("ok")}, path: "build/helper", command: "delegate"},
		"subagent with user":      {turn: []answer{calls(ask("helper", "x")), say("done")}, subtask: []answer{calls(all...), say("ok")}, path: "build/helper", interactive: true},
		"command of a main agent": {turn: []answer{calls(all...), say("done")}, path: "build", command: "direct"},
	}
	for name, s := range starters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &callLog{}
			m := newModel(t, s.turn...).on(sdk.PurposeSubtask, s.subtask...)
			b := delegating(m)
			b.commands = []sdk.Command{{Name: "delegate", Template: "x", Agent: "helper", Subtask: &yes}, {Name: "direct", Template: "x"}}
			plugins := []sdk.Plugin{b}
			for _, c := range carriers {
				plugins = append(plugins, &plugin{name: "of-" + string(c), carrier: c, tools: []sdk.Tool{l.tool(string(c) + "_tool")}})
			}
			k := start(t, func(o *host.Options) { o.Interactive = s.interactive }, append(plugins, l.watcher())...)
			id := k.session()
			in := host.PromptInput{SessionID: id, Text: "go", Command: s.command}
			if _, err := k.Prompt(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			for _, c := range carriers {
				tool, args := string(c)+"_tool", `{"v":"changed"}`
				want(t, tool, []string{
					fmt.Sprintf("before %s %s", c, s.path), "prepare " + args, "permission " + args, "run " + args, "after ok " + args + " out of " + tool,
				}, l.of(tool))
			}
			if strings.Contains(s.path, "/") { // the task call itself goes the same way
				if got := l.of("task"); len(got) != 2 || got[0] != "before builtin build" || !strings.HasPrefix(got[1], "after ok ") {
					t.Errorf("task: %q, want before and after once", got)
				}
				id = k.children(id)[0].ID
			}
			for _, p := range k.toolParts(id) {
				if p.Tool != "task" && string(p.State.Input) != `{"v":"changed"}` {
					t.Errorf("%s: stored input = %s, want what ran", p.Tool, p.State.Input)
				}
			}
		})
	}
}

// TestAfterHookHearsEveryOutcome has a call for each possible outcome: the hook at tool.execute.after sees each outcome once and can
// change what the model gets.
func TestAfterHookHearsEveryOutcome(t *testing.T) {
	t.Parallel()
	deny := func(f func(string) error) []sdk.Hook {
		return []sdk.Hook{sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error { return f("not today") })}
	}
	running, returning := make(chan struct{}, 1), make(chan struct{}, 1)
	cases := map[string]struct {
		run     func(ctx context.Context) (*sdk.ToolResult, error)
		hooks   []sdk.Hook
		args    string
		want    string // outcome and output as the hook hears them
		halted  bool
		aborted chan struct{} // tells that the call to abort runs
	}{
		"ok":         {run: func(context.Context) (*sdk.ToolResult, error) { return &sdk.ToolResult{Output: "fine"}, nil }, want: "ok fine"},
		"error":      {run: func(context.Context) (*sdk.ToolResult, error) { return nil, errors.New("broken") }, want: "error broken"},
		"panic":      {run: func(context.Context) (*sdk.ToolResult, error) { panic("oh no") }, want: "error tool act: panicked: oh no"},
		"bad schema": {args: `{"n":"x"}`, want: "error the arguments of act do not match its schema"},
		"denied":     {hooks: deny(sdk.Deny), want: "denied not today (refused by plugin first)"},
		"halted":     {hooks: deny(sdk.Halt), want: "denied not today (refused by plugin first)", halted: true},
		"refused by the tool itself": {run: func(context.Context) (*sdk.ToolResult, error) {
			return nil, &sdk.Refusal{Reason: "no", By: "user"}
		}, want: "denied no (refused by user)"},
		"aborted": {run: func(ctx context.Context) (*sdk.ToolResult, error) {
			running <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}, want: "aborted tool execution aborted", aborted: running},
		"aborted with a result": {run: func(ctx context.Context) (*sdk.ToolResult, error) {
			returning <- struct{}{}
			<-ctx.Done()
			return &sdk.ToolResult{Output: "what it had"}, nil
		}, want: "aborted tool execution aborted\nwhat it had", aborted: returning},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &callLog{}
			after := sdk.OnToolAfter(func(_ context.Context, in *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
				l.add(in.Tool, string(in.Outcome)+" "+v.Output)
				v.Output = "rewritten"
				return nil
			})
			act := &tool{id: "act", schema: `{"type":"object","properties":{"n":{"type":"integer"}}}`,
				run: func(ctx context.Context, _ *sdk.ToolCall) (*sdk.ToolResult, error) { return c.run(ctx) }}
			args := c.args
			if args == "" {
				args = `{"n":7}`
			}
			m := newModel(t, call("act", args))
			if !c.halted && c.aborted == nil {
				m.on(sdk.PurposeTurn, say("done"))
			}
			b := base(m)
			b.tools = []sdk.Tool{act}
			k := start(t, nil, b, &plugin{name: "first", hooks: c.hooks}, &plugin{name: "second", hooks: []sdk.Hook{after}})
			id := k.session()
			if c.aborted != nil {
				go func() {
					<-c.aborted
					k.Abort(id)
				}()
			}
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if (err != nil) != (c.halted || c.aborted != nil) {
				t.Errorf("Prompt = %v", err)
			}
			got := l.of("act")
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("the hook heard %q, want %q once", got, c.want)
			}
			want(t, "result", []string{"rewritten"}, k.results(id))
			noOpenParts(t, k, id)
			for _, p := range k.toolParts(id) { // also of a call that was denied
				if string(p.State.Input) != args {
					t.Errorf("the part has the arguments %s, want %s", p.State.Input, args)
				}
				if _, by, denied := strings.Cut(c.want, "(refused by "); denied && p.State.Metadata["refusedBy"] != strings.TrimSuffix(by, ")") {
					t.Errorf("the part has the metadata %v, want what refused it: %s", p.State.Metadata, by)
				}
			}
		})
	}
}

// TestRedactor has a plugin that removes a secret from tool results: the secret appears nowhere, however the call ends.
func TestRedactor(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	redact := []sdk.Hook{
		sdk.OnToolAfter(func(_ context.Context, _ *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
			v.Title, v.Output = clean(v.Title), clean(v.Output)
			data, err := json.Marshal(v.Metadata)
			if err != nil {
				return err
			}
			v.Metadata = nil
			return json.Unmarshal([]byte(clean(string(data))), &v.Metadata)
		}),
	}
	cases := map[string]func(*sdk.ToolCall) (*sdk.ToolResult, error){
		"in a result": func(*sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Title: secret, Output: "is " + secret, Metadata: sdk.Object{"deep": sdk.Object{"er": secret}}}, nil
		},
		"in a large result": func(*sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: strings.Repeat("line "+secret+"\n", 10_000)}, nil
		},
		"in an error": func(*sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Metadata: sdk.Object{"output": secret}}, errors.New("no " + secret)
		},
		"in a panic": func(*sdk.ToolCall) (*sdk.ToolResult, error) { panic(secret) },
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leak := &tool{id: "leak", run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) { return run(call) }}
			m := newModel(t, call("leak", `{}`), say("done"))
			b := base(m)
			b.tools = []sdk.Tool{leak}
			k := start(t, nil, b, &plugin{name: "redactor", hooks: redact})
			sub := k.Subscribe(4096, false)
			id, _ := k.prompt("go")
			check := func(where string, v any) {
				t.Helper()
				data, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), secret) {
					t.Errorf("the secret is in %s: %.300s", where, data)
				}
			}
			check("the store", k.messages(id))
			check("the request", m.last(sdk.PurposeTurn))
			part := k.toolParts(id)[0]
			if ref, ok := part.State.Metadata["outputPath"].(string); ok {
				blob, err := k.store.Blob(t.Context(), strings.TrimPrefix(ref, "tool-output/"))
				if err != nil {
					t.Fatal(err)
				}
				check("the blob", string(blob))
			} else if name == "in a large result" {
				t.Error("the large result was not stored aside")
			}
			k.close()
			for e := range sub.Events() {
				check("event "+e.Type, e)
			}
		})
	}
}

// TestProgressIsReplacedByTheHooksResult: a call shows something while it runs and then fails. Only what
// the hook keeps of it is stored.
func TestProgressIsReplacedByTheHooksResult(t *testing.T) {
	t.Parallel()
	leak := &tool{id: "leak", run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		call.Host.Progress("running", sdk.Object{"output": "hunter2"})
		return nil, errors.New("failed")
	}}
	after := sdk.OnToolAfter(func(_ context.Context, _ *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
		if v.Metadata["output"] != "hunter2" {
			t.Errorf("metadata = %v, want what was shown", v.Metadata)
		}
		v.Metadata = sdk.Object{}
		return nil
	})
	m := newModel(t, call("leak", `{}`), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{leak}
	k := start(t, nil, b, &plugin{name: "redactor", hooks: []sdk.Hook{after}})
	id, _ := k.prompt("go")
	if got := k.toolParts(id)[0].State.Metadata["output"]; got != nil {
		t.Errorf("metadata output = %v, want none", got)
	}
}

func TestTextCompleteChangesWhatIsStoredAndSent(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{text: "the secret", calls: []toolCall{{tool: "echo", args: "{}"}}}, say("the secret again"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b, &plugin{name: "censor", hooks: []sdk.Hook{
		sdk.OnTextComplete(func(_ context.Context, _ *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
			v.Text = strings.ReplaceAll(v.Text, "secret", "…")
			return nil
		}),
	}})
	id, got := k.prompt("go")
	want(t, "answer", "the … again", textOf(got))
	messages := k.messages(id)
	want(t, "stored", "the …", textOf(&messages[1]))
	want(t, "sent", "assistant: the … | call echo {}", lines(m.last(sdk.PurposeTurn))[1])
}

// TestStopPolicy has hooks that must not fail: their failure ends the turn, and the error names them.
func TestStopPolicy(t *testing.T) {
	t.Parallel()
	broken := errors.New("cannot redact")
	stop := func(h sdk.Hook) sdk.Hook { h.OnError = sdk.OnErrorStop; return h }
	cases := map[string]struct {
		hook sdk.Hook
		ran  bool
	}{
		"before a call": {sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error { return broken }), false},
		"after a call":  {sdk.OnToolAfter(func(context.Context, *sdk.ToolAfterInput, *sdk.ToolAfterValue) error { return broken }), true},
		"at the gate":   {sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) { return sdk.Decision{}, broken }), false},
		"at the system": {sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error { return broken }), false},
		"at the text":   {sdk.OnTextComplete(func(context.Context, *sdk.TextCompleteInput, *sdk.TextCompleteValue) error { return broken }), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := false
			act := &tool{id: "act",
				prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
					return []sdk.PermissionRequest{{Permission: "act", Patterns: []string{"x"}}}, nil
				},
				run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
					ran = true
					return &sdk.ToolResult{Output: "leaked"}, nil
				}}
			m := newModel(t, answer{text: "a secret", calls: []toolCall{{tool: "act", args: "{}"}}})
			b := base(m)
			b.tools = []sdk.Tool{act}
			k := start(t, nil, b, &plugin{name: "redactor", hooks: []sdk.Hook{stop(c.hook)}})
			id := k.session()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if err == nil || !strings.Contains(err.Error(), "redactor") || !strings.Contains(err.Error(), string(c.hook.Point)) || !errors.Is(err, broken) {
				t.Errorf("Prompt = %v, want an error that names plugin, hook and cause", err)
			}
			if ran != c.ran {
				t.Errorf("the tool ran: %v, want %v", ran, c.ran)
			}
			data, _ := json.Marshal(k.messages(id))
			if strings.Contains(string(data), "leaked") || c.hook.Point == sdk.PointTextComplete && strings.Contains(string(data), "a secret") {
				t.Errorf("what was not redacted is stored: %s", data)
			}
			noOpenParts(t, k, id)
		})
	}
}

// TestBadHooksChangeNothing has a plugin whose every transform fails in one way: the answer is the same as
// without it, and users see which plugin and hook it was.
func TestBadHooksChangeNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	faults := map[string]func() error{
		"fails":  func() error { return errors.New("broken") },
		"panics": func() error { panic("broken") },
		"hangs":  func() error { <-release; return nil },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bad := []sdk.Hook{
				sdk.OnChatMessage(func(context.Context, *sdk.ChatMessageInput, *sdk.ChatMessageValue) error { return fault() }),
				sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error { return fault() }),
				sdk.OnToolAfter(func(context.Context, *sdk.ToolAfterInput, *sdk.ToolAfterValue) error { return fault() }),
			}
			for i := range bad {
				bad[i].Timeout = 20 * time.Millisecond
			}
			m := newModel(t, call("echo", `{"a":"b"}`), say("done"))
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			k := start(t, nil, b, &plugin{name: "bad", hooks: bad})
			sub := k.Subscribe(4096, false)
			id, got := k.prompt("go")
			want(t, "answer", "done", textOf(got))
			want(t, "messages", []string{"user: go", `assistant: call echo {"a":"b"}`, `tool: {"a":"b"}`}, lines(m.last(sdk.PurposeTurn)))
			want(t, "results", []string{`{"a":"b"}`}, k.results(id))
			notice := next(t, sub, ofType(sdk.EventPluginNotice)).Properties.(*sdk.PluginNotice)
			if notice.Plugin != "bad" || notice.Hook != "chat.message" || notice.Message == "" {
				t.Errorf("notice = %+v, want plugin and hook named", notice)
			}
		})
	}
}

// TestPluginsThatDoNotStartAreLeftOut starts a host with plugins whose Start fails.
func TestPluginsThatDoNotStartAreLeftOut(t *testing.T) {
	t.Parallel()
	cases := map[string]func() error{
		"fails":              func() error { return errors.New("no way") },
		"panics":             func() error { panic("no way") },
		"ends its goroutine": func() error { runtime.Goexit(); return nil },
	}
	for name, fault := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, call("theirs", `{}`), say("done"))
			bad := &plugin{name: "bad", tools: []sdk.Tool{echo("theirs")}, start: fault,
				hooks: []sdk.Hook{sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error {
					t.Error("a hook of a plugin that did not start was called")
					return nil
				})}}
			logs := &records{}
			k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, base(m), bad)
			id, got := k.prompt("go")
			want(t, "answer", "done", textOf(got))
			if r := k.results(id)[0]; !strings.Contains(r, `tool "theirs" not found`) {
				t.Errorf("result = %q, want that the plugin's tool is not there", r)
			}
			if !logs.has("plugin bad is skipped: start: ", "no way") && !logs.has("plugin bad is skipped: start: it ended its goroutine") {
				t.Errorf("logged %q, want a warning that names the plugin and the cause", logs.all())
			}
		})
	}
}

// hooker is a plugin that calls asked when it is asked for its hooks.
type hooker struct {
	*plugin
	asked func()
}

func (h *hooker) Hooks() []sdk.Hook {
	if h.asked != nil {
		h.asked()
	}
	return nil
}

// TestMissingOptions names the option.
func TestMissingOptions(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t)))
	for name, without := range map[string]func(*host.Options){
		"Config":          func(o *host.Options) { o.Config = nil },
		"Store":           func(o *host.Options) { o.Store = nil },
		"Logger":          func(o *host.Options) { o.Logger = nil },
		"Project.DataDir": func(o *host.Options) { o.Project.DataDir = "" }, // else snapshots would be in the project
	} {
		o := k.opts
		without(&o)
		if _, err := host.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options."+name+" is missing") {
			t.Errorf("New without %s = %v, want an error that names it", name, err)
		}
	}
}

// TestPluginThatHangsInStart waits for the deadline of plugins, not for the plugin. A reload uses the plugin once Start has returned.
func TestPluginThatHangsInStart(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	logs := &records{}
	begun := time.Now()
	b, slow := base(newModel(t, say("done"), call("version", `{}`), say("done"))), &hooker{plugin: version("one")}
	slow.start = func() error { <-release; return nil }
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, b, slow)
	if took := time.Since(begun); took > 60*time.Second {
		t.Errorf("the host started after %s, want about 5", took)
	}
	id, got := k.prompt("go")
	want(t, "answer", "done", textOf(got))
	if !logs.has("plugin watched is skipped", "start: no answer in 5s") {
		t.Errorf("logged %q, want that the plugin is skipped", logs.all())
	}
	time.AfterFunc(10*time.Millisecond, func() { close(release) }) // while the reload waits for it
	canceled, cancel := context.WithCancel(t.Context())
	reloaded := make(chan struct{})
	slow.asked = func() { cancel(); <-reloaded }
	if err := k.Reload(canceled, host.ReloadOptions{Plugins: []sdk.Plugin{b, slow}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Reload that was canceled while the plugin was asked for its hooks = %v", err)
	}
	close(reloaded)
	slow.asked = nil
	if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, slow}}); err != nil {
		t.Fatal(err)
	}
	k.again(id, "go")
	want(t, "results after the reload", []string{"one"}, k.results(id))
}

// TestValuesWrittenAsText has a model that writes numbers and lists as text. With hooks at tool.execute.before the call is refused: they would judge
// other arguments than those that run.
func TestValuesWrittenAsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, want string
		hooked     bool
	}{
		"all":             {`{"b":"true","l":"[\"x\"]","n":"5","s":"5"}`, `{"b":true,"l":["x"],"n":5,"s":"5"}`, false},
		"HTML":            {`{"n":"5","s":"<b> & c"}`, `{"n":5,"s":"<b> & c"}`, false},
		"no value":        {`{"n":"five"}`, "", false},
		"another value":   {`{"n":"true"}`, "", false},
		"a name twice":    {`{"l":"[{\"a\":1,\"a\":2}]"}`, "", false},
		"an optional":     {`{"o":"5","r":"{\"a\":true}"}`, `{"o":5,"r":{"a":true}}`, false},
		"or text":         {`{"n":"5","t":"5"}`, `{"n":5,"t":"5"}`, false},
		"with hooks":      {`{"n":"5"}`, "", true},
		"right, and kept": {`{"n": 5, "b": false}`, `{"n":5,"b":false}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := ""
			pick := &tool{id: "pick", schema: `{"type":"object","properties":{"b":{"type":"boolean"},"l":{"type":"array"},"n":{"type":"integer"},"s":{"type":"string"},
				"o":{"anyOf":[{"type":"integer"},{"type":"null"}]},"r":{"$ref":"#/$defs/R"},"t":{"anyOf":[{"type":"integer"},{"type":"string"}]}},
				"$defs":{"R":{"type":"object","properties":{"a":{"type":"boolean"}}}}}`,
				run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					ran = string(call.Args)
					return &sdk.ToolResult{Output: "picked"}, nil
				}}
			b := base(newModel(t, call("pick", c.args), say("done")))
			b.tools = []sdk.Tool{pick}
			if c.hooked {
				b.hooks = []sdk.Hook{sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error { return nil })}
			}
			k := start(t, nil, b)
			id, _ := k.prompt("go")
			if ran != c.want {
				t.Errorf("the call ran with %q, want %q", ran, c.want)
			}
			if input := string(k.toolParts(id)[0].State.Input); ran != "" && input != c.want {
				t.Errorf("the conversation has %s, want %s", input, c.want)
			}
		})
	}
}
