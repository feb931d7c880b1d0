package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// touch is a tool that requests permission to touch its path, in Prepare or, if late is set, while it runs.
func touch(late bool) *tool {
	request := func(call *sdk.ToolCall) sdk.PermissionRequest {
		path := strings.Trim(strings.TrimPrefix(string(call.Args), `{"path":`), `"}`)
		return sdk.PermissionRequest{Permission: "touch", Patterns: []string{path}, Always: []string{"src/*"}}
	}
	t := &tool{id: "touch", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		if late {
			if err := call.Host.Ask(ctx, request(call)); err != nil {
				return nil, err
			}
		}
		return &sdk.ToolResult{Output: "touched"}, nil
	}}
	if !late {
		t.prepare = func(call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{request(call)}, nil
		}
	}
	return t
}

func path(p string) toolCall { return toolCall{tool: "touch", args: fmt.Sprintf(`{"path":%q}`, p)} }

// asking is a host that asks for everything.
func asking(o *host.Options) { o.Config.Permission = nil; o.Interactive = true }

// results renders the results of the calls of a session.
func (k *kit) results(session string) []string {
	k.t.Helper()
	var out []string
	for _, p := range k.toolParts(session) {
		out = append(out, p.State.Output+p.State.Error)
	}
	return out
}

// answerAsks replies to permission requests, in the order they come, until the script is at its end.
func answerAsks(t *testing.T, k *kit, script ...func(*sdk.PermissionRequest) error) (asked func() int) {
	t.Helper()
	sub := k.Subscribe(4096, true)
	done := make(chan int, 1)
	go func() { // ends when the subscription does
		n := 0
		for e := range sub.Events() {
			r, ok := e.Properties.(*sdk.PermissionRequest)
			if !ok {
				continue
			}
			n++
			if n > len(script) {
				t.Errorf("asked once more than expected: %v", r)
				k.Abort(r.SessionID)
				continue
			}
			if err := script[n-1](r); err != nil {
				t.Errorf("reply to request %d: %v", n, err)
			}
		}
		done <- n
	}()
	return func() int {
		k.close()
		return <-done
	}
}

func reply(k **kit, r sdk.Reply, message string) func(*sdk.PermissionRequest) error {
	return func(p *sdk.PermissionRequest) error { return (*k).ReplyPermission(p.ID, r, message) }
}

func TestUserAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script  []answer
		replies []sdk.Reply
		message string
		goOn    bool // continue_loop_on_deny
		want    []string
		halted  bool
	}{
		"once holds for one call": {
			[]answer{calls(path("a")), calls(path("a")), say("done")}, []sdk.Reply{sdk.ReplyOnce, sdk.ReplyOnce}, "", false,
			[]string{"touched", "touched"}, false,
		},
		"always holds for what it names": {
			[]answer{calls(path("src/a")), calls(path("src/b"), path("other")), say("done")}, []sdk.Reply{sdk.ReplyAlways, sdk.ReplyOnce}, "", false,
			[]string{"touched", "touched", "touched"}, false,
		},
		"a rejection ends the turn": {
			[]answer{calls(path("a"), path("b"))}, []sdk.Reply{sdk.ReplyReject}, "", false,
			[]string{`permission "touch" was rejected (refused by user)`, "the turn was stopped; tool call skipped (refused by an earlier call)"}, true,
		},
		"a rejection with a message goes to the model": {
			[]answer{calls(path("a")), say("done")}, []sdk.Reply{sdk.ReplyReject}, "use b", false,
			[]string{"the user says: use b (refused by user)"}, false,
		},
		"a rejection goes to the model when configured": {
			[]answer{calls(path("a")), say("done")}, []sdk.Reply{sdk.ReplyReject}, "", true,
			[]string{`permission "touch" was rejected (refused by user)`}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.script...)
			b := base(m)
			b.tools = []sdk.Tool{touch(false)}
			k := start(t, func(o *host.Options) {
				asking(o)
				o.Config.Experimental.ContinueLoopOnDeny = c.goOn
			}, b)
			var script []func(*sdk.PermissionRequest) error
			for _, r := range c.replies {
				script = append(script, reply(&k, r, c.message))
			}
			asked := answerAsks(t, k, script...)
			id := k.session()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if (err != nil) != c.halted {
				t.Errorf("Prompt = %v, want an error: %v", err, c.halted)
			}
			want(t, "results", c.want, k.results(id))
			noOpenParts(t, k, id)
			if left := k.Permissions(); len(left) != 0 {
				t.Errorf("%d requests still wait", len(left))
			}
			if n := asked(); n != len(c.replies) {
				t.Errorf("asked %d times, want %d", n, len(c.replies))
			}
		})
	}
}

// waitAsked waits until n requests wait for an answer and returns them by their first pattern.
func waitAsked(t *testing.T, k *kit, sub *host.Subscription, n int) map[string]sdk.PermissionRequest {
	t.Helper()
	out := map[string]sdk.PermissionRequest{}
	for len(out) < n {
		e := next(t, sub, ofType(sdk.EventPermissionAsked))
		r := e.Properties.(*sdk.PermissionRequest)
		out[r.Patterns[0]] = *r
	}
	if left := k.Permissions(); len(left) != n {
		t.Errorf("Permissions lists %d requests, want %d", len(left), n)
	}
	return out
}

// TestAlwaysGrantsWhatWaits answers one of several requests: those that its patterns cover pass too.
func TestAlwaysGrantsWhatWaits(t *testing.T) {
	t.Parallel()
	m := newModel(t, calls(path("src/a"), path("src/b"), path("other")), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{touch(true)}
	k := start(t, func(o *host.Options) {
		asking(o)
	}, b)
	id := k.session()
	sub := k.Subscribe(4096, false)
	got := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		got <- err
	}()
	asked := waitAsked(t, k, sub, 3)
	if err := k.ReplyPermission(asked["src/a"].ID, sdk.ReplyAlways, ""); err != nil {
		t.Fatal(err)
	}
	for _, r := range k.Permissions() {
		if r.Patterns[0] != "other" {
			t.Errorf("the request for %v still waits", r.Patterns)
		}
	}
	if err := k.ReplyPermission(asked["src/b"].ID, sdk.ReplyOnce, ""); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("reply to a settled request = %v, want %v", err, host.ErrNotFound)
	}
	if err := k.ReplyPermission(asked["other"].ID, "perhaps", ""); err == nil {
		t.Error("an unknown reply was taken")
	}
	if err := k.ReplyPermission(asked["other"].ID, sdk.ReplyOnce, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	want(t, "results", []string{"touched", "touched", "touched"}, k.results(id))
}

// TestRejectRejectsWhatWaits rejects one of several requests of a session; another session's stays.
func TestRejectRejectsWhatWaits(t *testing.T) {
	t.Parallel()
	m := newModel(t, calls(path("a"), path("b")))
	b := base(m)
	b.tools = []sdk.Tool{touch(true)}
	k := start(t, asking, b)
	sub := k.Subscribe(4096, false)
	ids := []string{k.session(), k.session()}
	got := make(chan error, 2)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: ids[0], Text: "go"})
		got <- err
	}()
	asked := waitAsked(t, k, sub, 2)
	m.on(sdk.PurposeTurn, calls(path("c")), say("done"))
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: ids[1], Text: "go"})
		got <- err
	}()
	third := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
	if err := k.ReplyPermission(asked["a"].ID, sdk.ReplyReject, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err == nil {
		t.Error("the rejected turn has an answer")
	}
	if left := k.Permissions(); len(left) != 1 || left[0].ID != third.ID {
		t.Errorf("%v still wait, want the other session's request", left)
	}
	if err := k.ReplyPermission(third.ID, sdk.ReplyOnce, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	noOpenParts(t, k, ids[0])
}

// TestAbortEndsARequest aborts a turn that waits for the user.
func TestAbortEndsARequest(t *testing.T) {
	t.Parallel()
	m := newModel(t, calls(path("a")))
	b := base(m)
	b.tools = []sdk.Tool{touch(false)}
	k := start(t, asking, b)
	id := k.session()
	sub := k.Subscribe(4096, false)
	got := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		got <- err
	}()
	asked := waitAsked(t, k, sub, 1)
	k.Abort(id)
	var te *host.TurnError
	if err := <-got; !errors.As(err, &te) || te.Named.Name != sdk.ErrorAborted {
		t.Errorf("Prompt = %v, want %s", err, sdk.ErrorAborted)
	}
	replied := next(t, sub, ofType(sdk.EventPermissionReplied)).Properties.(*sdk.PermissionReplied)
	if replied.RequestID != asked["a"].ID || replied.Reply != sdk.ReplyReject {
		t.Errorf("replied = %+v, want the request rejected", replied)
	}
	if len(k.Permissions()) != 0 {
		t.Error("the request still waits")
	}
	noOpenParts(t, k, id)
}

// TestRequestShowsWhatRuns checks what clients and gates see of a call.
func TestRequestShowsWhatRuns(t *testing.T) {
	t.Parallel()
	m := newModel(t, calls(path("a")), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{touch(false)}
	k := start(t, asking, b)
	var seen sdk.PermissionRequest
	asked := answerAsks(t, k, func(r *sdk.PermissionRequest) error {
		seen = *r
		return k.ReplyPermission(r.ID, sdk.ReplyOnce, "")
	})
	id, _ := k.prompt("go")
	part := k.toolParts(id)[0]
	asked()
	if seen.SessionID != id || seen.Agent != "build" || string(seen.Args) != `{"path":"a"}` || seen.Tool == nil || seen.Tool.CallID != part.CallID || seen.Tool.MessageID != part.MessageID ||
		seen.Tool.ID != part.Tool || seen.Tool.Origin.Carrier != sdk.CarrierBuiltin {
		t.Errorf("request = %+v, want session, agent, arguments and the call", seen)
	}
	if !strings.HasPrefix(seen.ID, "per_") || seen.Metadata == nil {
		t.Errorf("request = %+v, want an identifier and metadata", seen)
	}
}

func TestHeadlessDecides(t *testing.T) {
	t.Parallel()
	deny := sdk.PermissionRules{{Permission: "touch", Pattern: "*", Action: sdk.ActionDeny, Origin: "tenon.json:7"}}
	denySome := sdk.PermissionRules{{Permission: "touch", Pattern: "a", Action: sdk.ActionDeny, Origin: "tenon.json:7"}}
	allow := sdk.PermissionRules{{Permission: "touch", Pattern: "*", Action: sdk.ActionAllow}}
	gate := func(v sdk.Verdict) []sdk.Hook {
		return []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			return sdk.Decision{Verdict: v, Reason: "the gate says so"}, nil
		})}
	}
	failing := []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{}, errors.New("broken gate")
	})}
	cases := map[string]struct {
		rules  sdk.PermissionRules
		auto   bool
		gates  []sdk.Hook
		want   []string // pieces of the result
		halted bool
	}{
		"an allowing rule":                    {rules: allow, want: []string{"touched"}},
		"a denying rule names its place":      {rules: denySome, want: []string{`permission "touch" is denied for "a"`, "tenon.json:7"}},
		"a denying rule removes the tool":     {rules: deny, want: []string{`tool "touch" not found: permission "touch" is denied for "*" by the rule at tenon.json:7`}},
		"what would be asked is refused":      {want: []string{"--auto", `{"permission": {"touch": {"a": "allow"}}}`, "tenon.json"}},
		"auto allows what would be asked":     {auto: true, want: []string{"touched"}},
		"auto does not allow what is denied":  {rules: denySome, auto: true, want: []string{"is denied"}},
		"a gate allows":                       {gates: gate(sdk.VerdictAllow), want: []string{"touched"}},
		"a gate cannot allow what is denied":  {rules: denySome, gates: gate(sdk.VerdictAllow), want: []string{"is denied"}},
		"a gate denies what a rule allows":    {rules: allow, gates: gate(sdk.VerdictDeny), want: []string{"the gate says so", "refused by plugin gate"}},
		"a gate denies what auto would allow": {auto: true, gates: gate(sdk.VerdictDeny), want: []string{"the gate says so"}},
		"a gate asks though a rule allows":    {rules: allow, gates: gate(sdk.VerdictAsk), want: []string{"--auto", "gate: the gate says so"}},
		"a gate halts":                        {rules: allow, gates: gate(sdk.VerdictHalt), want: []string{"the gate says so"}, halted: true},
		"a gate abstains":                     {rules: allow, gates: gate(sdk.VerdictAbstain), want: []string{"touched"}},
		"a broken gate denies":                {rules: allow, gates: failing, want: []string{"broken gate", "plugin gate"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, calls(path("a")))
			if !c.halted {
				m.on(sdk.PurposeTurn, say("done"))
			}
			b := base(m)
			b.tools = []sdk.Tool{touch(false)}
			k := start(t, func(o *host.Options) { o.Config.Permission, o.AutoApprove = c.rules, c.auto }, b, &plugin{name: "gate", hooks: c.gates})
			id := k.session()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if (err != nil) != c.halted {
				t.Errorf("Prompt = %v, want an error: %v", err, c.halted)
			}
			got := k.results(id)[0]
			for _, piece := range c.want {
				if !strings.Contains(got, piece) {
					t.Errorf("result = %q, want %q in it", got, piece)
				}
			}
		})
	}
}

// A rule about every permission did not remove a tool that does not exist.
func TestUnknownToolIsNotDenied(t *testing.T) {
	t.Parallel()
	k := start(t, func(o *host.Options) {
		o.Config.Permission = sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionDeny}}
	}, base(newModel(nil, call("nothing", "{}"), say("done"))))
	id := k.session()
	k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
	if got := k.results(id)[0]; !strings.Contains(got, `tool "nothing" not found; the tools are: `) {
		t.Errorf("result = %q", got)
	}
}

// A call that needs several permissions, one of which a rule denies, is refused without a question about the others.
func TestDeniedBeforeAsked(t *testing.T) {
	t.Parallel()
	tl := touch(false)
	tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
		return []sdk.PermissionRequest{{Permission: "external_directory", Patterns: []string{"/x/*"}}, {Permission: "edit", Patterns: []string{"/x/y"}}}, nil
	}
	b := base(newModel(nil, calls(path("a")), say("done")))
	b.tools = []sdk.Tool{tl}
	k := start(t, func(o *host.Options) {
		o.Config.Permission = sdk.PermissionRules{{Permission: "edit", Pattern: "*", Action: sdk.ActionDeny}}
	}, b)
	id, _ := k.prompt("go")
	if got := k.results(id)[0]; !strings.Contains(got, `permission "edit" is denied`) {
		t.Errorf("result = %q, want the denial", got)
	}
}

// TestUnconfinedIsAskedForByItself has a call that wants out of the sandbox: neither --auto, a gate nor rules for something else allow it.
func TestUnconfinedIsAskedForByItself(t *testing.T) {
	t.Parallel()
	everything := sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}, {Permission: "bash", Pattern: "*", Action: sdk.ActionAllow}}
	named := append(slices.Clone(everything), sdk.PermissionRule{Permission: sdk.PermissionUnconfined, Pattern: "make x", Action: sdk.ActionAllow})
	gate := []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
	})}
	refused := `permission "unconfined" for "make x" needs the user's approval, and no user can answer; the user can allow it with the rule {"permission": {"unconfined": {"make x": "allow"}}}`
	for name, c := range map[string]struct {
		rules sdk.PermissionRules
		auto  bool
		gates []sdk.Hook
		want  string
	}{
		"no rule":            {want: refused},
		"auto":               {auto: true, want: refused},
		"rules for all":      {rules: everything, want: refused},
		"a gate":             {gates: gate, want: refused},
		"all of them":        {rules: everything, auto: true, gates: gate, want: refused},
		"its own rule":       {rules: named, want: "ran"},
		"its own, and gates": {rules: named, gates: gate, want: "ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, calls(toolCall{tool: "leave", args: `{}`}), say("done"))
			b := base(m)
			b.tools = []sdk.Tool{&tool{
				id: "leave", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
					return &sdk.ToolResult{Output: "ran"}, nil
				},
				prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
					return []sdk.PermissionRequest{{Permission: sdk.PermissionUnconfined, Patterns: []string{"make x"}}}, nil
				},
			}}
			k := start(t, func(o *host.Options) { o.Config.Permission, o.AutoApprove = c.rules, c.auto }, b, &plugin{name: "gate", hooks: c.gates})
			id := k.session()
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
				t.Fatal(err)
			}
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestUndecidedToolAsksForItself has a tool that declares no permissions.
func TestUndecidedToolAsksForItself(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("plain", `{}`), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{plainTool{echo("plain")}}
	k := start(t, func(o *host.Options) { o.Config.Permission = nil }, b)
	id, _ := k.prompt("go")
	if got := k.results(id)[0]; !strings.Contains(got, `{"permission": {"plain": {"*": "allow"}}}`) {
		t.Errorf("result = %q, want the rule for the tool's id", got)
	}
}

// plainTool hides the permissions that a tool declares.
type plainTool struct{ sdk.Tool }

// TestQuestions asks the user from a tool.
func TestQuestions(t *testing.T) {
	t.Parallel()
	question := &tool{id: "question", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		answers, err := call.Host.(sdk.Questioner).Question(ctx, []sdk.Question{{Question: "Which?", Header: "Which"}})
		return &sdk.ToolResult{Output: fmt.Sprint(answers)}, err
	}}
	run := func(t *testing.T, interactive bool, react func(*kit, *sdk.QuestionRequest)) string {
		m := newModel(t, call("question", `{}`), say("done"))
		b := base(m)
		b.tools = []sdk.Tool{question}
		k := start(t, func(o *host.Options) { o.Interactive = interactive }, b)
		id := k.session()
		sub := k.Subscribe(4096, false)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
				t.Error(err)
			}
		}()
		if react != nil {
			react(k, next(t, sub, ofType(sdk.EventQuestionAsked)).Properties.(*sdk.QuestionRequest))
		}
		<-done
		return k.results(id)[0]
	}
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		got := run(t, true, func(k *kit, r *sdk.QuestionRequest) {
			if err := k.ReplyQuestion(r.ID, [][]string{{"a"}, {"b"}}); err == nil {
				t.Error("two answers to one question were taken")
			}
			if err := k.ReplyQuestion(r.ID, [][]string{{"this"}}); err != nil {
				t.Error(err)
			}
			if err := k.ReplyQuestion(r.ID, nil); !errors.Is(err, host.ErrNotFound) {
				t.Errorf("a second reply = %v, want %v", err, host.ErrNotFound)
			}
		})
		want(t, "result", "[[this]]", got)
	})
	t.Run("dismissed", func(t *testing.T) {
		t.Parallel()
		got := run(t, true, func(k *kit, r *sdk.QuestionRequest) {
			if err := k.ReplyQuestion(r.ID, nil); err != nil {
				t.Error(err)
			}
		})
		want(t, "result", "the question was dismissed (refused by user)", got)
	})
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		if got := run(t, false, nil); !strings.Contains(got, sdk.ErrHeadless.Error()) {
			t.Errorf("result = %q, want %q", got, sdk.ErrHeadless)
		}
	})
}

// TestHeadlessNamesWhatIsMissing checks that the rule that a refusal suggests allows the call.
func TestHeadlessNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("p", i))
	}
	allow := func(patterns ...string) (rules sdk.PermissionRules) {
		for _, p := range patterns {
			rules = append(rules, sdk.PermissionRule{Permission: "touch", Pattern: p, Action: sdk.ActionAllow})
		}
		return rules
	}
	for name, c := range map[string]struct {
		request sdk.PermissionRequest
		rules   sdk.PermissionRules
		want    string
	}{
		"all of them":      {sdk.PermissionRequest{Patterns: []string{"a", `b "c" > d`}}, nil, `with --auto, or with the rule {"permission": {"touch": {"a": "allow", "b \"c\" > d": "allow"}}} in tenon.json`},
		"but the allowed":  {sdk.PermissionRequest{Patterns: []string{"a", "b", "c"}}, allow("b"), `{"permission": {"touch": {"a": "allow", "c": "allow"}}} in tenon.json`},
		"what is included": {sdk.PermissionRequest{Patterns: []string{"a"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: "x"}}}, append(allow("a"), sdk.PermissionRule{Permission: "edit", Pattern: "x*", Action: sdk.ActionAsk}), `{"permission": {"edit": {"x": "allow"}}} in tenon.json`},
		"not too many":     {sdk.PermissionRequest{Patterns: many}, nil, `"p7": "allow"}}} and the same for 4 more in tenon.json`},
		"without any":      {sdk.PermissionRequest{}, nil, `{"permission": {"touch": {"*": "allow"}}} in tenon.json`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.request.Permission = "touch"
			tl := touch(false)
			tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) { return []sdk.PermissionRequest{c.request}, nil }
			b := base(newModel(nil, calls(path("a")), say("done")))
			b.tools = []sdk.Tool{tl}
			k := start(t, func(o *host.Options) { o.Config.Permission = c.rules }, b)
			id, _ := k.prompt("go")
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestForeignRequests: a plugin's tool gets no permission that only tenon requests, and none whose name is a pattern: "always"
// would allow everything.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"*", "b?sh", "doom_loop", "unconfined", "Sampling", "project x", ""} {
		run := touch(false)
		run.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{{Permission: key, Patterns: []string{"*"}, Always: []string{"*"}}}, nil
		}
		k := start(t, asking, base(newModel(t, calls(path("a")), say("done"))), &plugin{name: "third", carrier: sdk.CarrierWASM, tools: []sdk.Tool{run}})
		asked := answerAsks(t, k, func(p *sdk.PermissionRequest) error {
			want(t, "the permission of the only question", "touch", p.Permission)
			return k.ReplyPermission(p.ID, sdk.ReplyOnce, "")
		})
		k.prompt("go")
		want(t, "questions", 1, asked())
	}
}

// TestConfinementIsAFact: a third-party tool cannot pretend to the user, or to a gate, that tenon confines what it does.
func TestConfinementIsAFact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		carrier sdk.Carrier
		want    any
	}{"compiled in": {sdk.CarrierBuiltin, "confined"}, "a plugin": {sdk.CarrierWASM, nil}, "a server": {sdk.CarrierMCP, nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := touch(false)
			run.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
				return []sdk.PermissionRequest{{Permission: "touch", Patterns: []string{"a"}, Metadata: sdk.Object{"sandbox": "confined", "covers": sdk.Object{"edit": []string{"b"}}}}}, nil
			}
			gate := sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
				want(t, "gate", c.want, in.Metadata["sandbox"])
				return sdk.Decision{}, nil
			})
			k := start(t, asking, base(newModel(t, calls(path("a")), say("done"))), &plugin{name: "third", carrier: c.carrier, tools: []sdk.Tool{run}}, &plugin{name: "gate", hooks: []sdk.Hook{gate}})
			asked := answerAsks(t, k, func(p *sdk.PermissionRequest) error {
				want(t, "question", c.want, p.Metadata["sandbox"])
				want(t, "question covers more", c.want != nil, p.Metadata["covers"] != nil)
				return k.ReplyPermission(p.ID, sdk.ReplyOnce, "")
			})
			k.prompt("go")
			want(t, "questions", 1, asked())
		})
	}
}
