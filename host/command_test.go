package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// shellTool is a bash tool that requests permission like the real one and answers with outputs by command. A command that is
// not in the list announces that it runs, and runs until its context ends.
func shellTool(outputs map[string]string, running chan<- struct{}) *tool {
	command := func(call *sdk.ToolCall) string {
		var args struct{ Command string }
		_ = json.Unmarshal(call.Args, &args) // the host made it
		return args.Command
	}
	return &tool{
		id: "bash",
		prepare: func(call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{{Permission: "bash", Patterns: []string{command(call)}, Always: []string{command(call)}}}, nil
		},
		run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			if out, ok := outputs[command(call)]; ok {
				return &sdk.ToolResult{Output: out, KeepTail: true}, nil
			}
			running <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
}

// templated is a base plugin with the bash tool and the command "do".
func templated(m *model, template string, outputs map[string]string) *plugin {
	b := delegating(m, shellTool(outputs, nil))
	b.commands = []sdk.Command{{Name: "do", Template: template, Origin: "/p/.tenon/commands/do.md"}}
	return b
}

// whole joins all texts of a request's messages.
func whole(r *sdk.ModelRequest) string {
	var out strings.Builder
	for _, m := range r.Messages {
		for _, c := range m.Content {
			out.WriteString(c.Text + "\n")
		}
	}
	return out.String()
}

// TestTemplateShell runs the shell commands of a template: they pass the hooks of every tool call in order, their arguments are
// not code, and their output is only text.
func TestTemplateShell(t *testing.T) {
	t.Parallel()
	l := &callLog{}
	m := newModel(t, say("done"))
	b := templated(m, "Branch: !`git branch`.\n$1 !`grep \"$1\" a`\n@inside.txt", map[string]string{
		"git branch": "main @secret.txt !`id` $1\n\n", "set -- 'a;b'\ngrep \"$1\" a": "found\n",
	})
	k := start(t, nil, b, l.watcher())
	write(t, k.dir, "secret.txt", "hunter2")
	write(t, k.dir, "inside.txt", "of the template")
	sub := k.Subscribe(4096, true)
	id := k.session()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do", Text: "'a;b'"}); err != nil {
		t.Fatal(err)
	}
	got := whole(m.last(sdk.PurposeTurn))
	if want := "Branch: main @secret.txt !`id` $1.\na;b found\n@inside.txt"; !strings.Contains(got, want) {
		t.Errorf("the prompt is %q, want %q in it", got, want)
	}
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "of the template") {
		t.Errorf("what the template mentions is attached, and nothing that a command wrote: %q", got)
	}
	var steps []string
	for _, s := range l.of("bash") {
		steps = append(steps, s[:strings.IndexByte(s, ' ')])
	}
	want(t, "hooks", []string{"before", "permission", "after", "before", "permission", "after"}, steps)
	if parts := k.toolParts(id); len(parts) != 0 {
		t.Errorf("%d calls in the conversation, want none", len(parts))
	}
	e := next(t, sub, ofType("plugin.tool.updated"))
	sub.Close()
	if p := *e.Properties.(*sdk.Object); p["template"] != "/do (/p/.tenon/commands/do.md)" || p["status"] != sdk.ToolPending {
		t.Errorf("the first event is %v", p)
	}
	rows, err := k.store.Ledger(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, row := range rows {
		var entries []hooks.Entry
		if err := json.Unmarshal(row.Entries, &entries); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Point == "tool.call" {
				ran = append(ran, string(e.Outcome)+" "+e.Reason)
			}
		}
	}
	want(t, "ledger", []string{
		"ok in the template of /do (/p/.tenon/commands/do.md): git branch", "ok in the template of /do (/p/.tenon/commands/do.md): set -- 'a;b'\ngrep \"$1\" a",
	}, ran)
}

// TestTemplateShellOfARefusedPrompt: the ledger has the commands of a template even if a hook then refuses the prompt.
func TestTemplateShellOfARefusedPrompt(t *testing.T) {
	t.Parallel()
	refuse := sdk.OnChatMessage(func(context.Context, *sdk.ChatMessageInput, *sdk.ChatMessageValue) error {
		return errors.New("refused")
	})
	refuse.OnError = sdk.OnErrorStop
	k := start(t, nil, templated(newModel(t), "!`touch a`", map[string]string{"touch a": ""}), &plugin{name: "strict", hooks: []sdk.Hook{refuse}})
	id := k.session()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do"}); err == nil {
		t.Fatal("the prompt was not refused")
	}
	want(t, "ledger", []string{"bash ok"}, k.pluginCalls(id))
}

// TestTemplateShellIsBounded: the output of a command is cut like that of a tool.
func TestTemplateShellIsBounded(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done"))
	k := start(t, func(o *host.Options) { o.Config.ToolOutput.MaxBytes = 20 }, templated(m, "!`flood`", map[string]string{"flood": strings.Repeat("0123456789\n", 10)}))
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: "do"}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompt", []string{"user: [the last 11 of 110 bytes]\n0123456789"}, lines(m.last(sdk.PurposeTurn)))
}

// TestTemplateShellOfASubtask passes the output of the commands to the subagent, in whose session nothing in it is resolved again.
func TestTemplateShellOfASubtask(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done")).on(sdk.PurposeSubtask, say("helped"))
	b := templated(m, "See !`cat a`", map[string]string{"cat a": "@secret.txt"})
	b.commands[0].Agent = "helper"
	k := start(t, nil, b)
	write(t, k.dir, "secret.txt", "hunter2")
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: "do"}); err != nil {
		t.Fatal(err)
	}
	want(t, "the subagent's prompt", []string{"user: See @secret.txt"}, lines(m.last(sdk.PurposeSubtask)))
}

// TestTemplateShellNeedsLeave tests templates of the user and of the repository against everything that could let their commands run.
func TestTemplateShellNeedsLeave(t *testing.T) {
	t.Parallel()
	allow := func(origin string) sdk.PermissionRules {
		return sdk.PermissionRules{{Permission: "bash", Pattern: "*", Action: sdk.ActionAllow, Origin: origin}}
	}
	users, theirs := allow("user"), allow("repository")
	repository, approved := permission.Trust{Repository: true}, permission.Trust{Repository: true, Approved: true}
	const refused, ran = "no user can answer", ""
	for name, c := range map[string]struct {
		trust permission.Trust
		rules sdk.PermissionRules
		auto  bool
		gate  bool // a hook allows it
		want  string
	}{
		"of the user, no rule":             {want: refused},
		"of the user, a rule":              {rules: users, want: ran},
		"of the user, --auto":              {auto: true, want: ran},
		"of the user, denied":              {rules: sdk.PermissionRules{{Permission: "bash", Pattern: "git *", Action: sdk.ActionDeny}}, auto: true, want: "is denied"},
		"of the user, no bash":             {rules: sdk.PermissionRules{{Permission: "bash", Pattern: "*", Action: sdk.ActionDeny}}, auto: true, want: "may not do"},
		"not approved, no rule":            {trust: repository, want: refused},
		"not approved, a rule":             {trust: repository, rules: users, want: refused},
		"not approved, a rule and --auto":  {trust: repository, rules: users, auto: true, want: refused},
		"not approved, a hook":             {trust: repository, gate: true, want: refused},
		"approved, the repository's rule":  {trust: approved, rules: theirs, want: refused},
		"approved, the user's rule":        {trust: approved, rules: users, want: ran},
		"approved, --auto":                 {trust: approved, auto: true, want: ran},
		"the repository's rule for ours":   {rules: theirs, want: ran},
		"not approved, denied by the user": {trust: repository, rules: sdk.PermissionRules{{Permission: "bash", Pattern: "git *", Action: sdk.ActionDeny}}, want: "is denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := []answer{say("done")}
			if c.want != ran {
				script = nil
			}
			plugins := []sdk.Plugin{templated(newModel(t, script...), "!`git log`", map[string]string{"git log": "x"})}
			if c.gate {
				plugins = append(plugins, &plugin{name: "gate", hooks: []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
					return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
				})}})
			}
			k := start(t, func(o *host.Options) {
				o.Config.Permission, o.AutoApprove = c.rules, c.auto
				o.Policy.Trust = func(origin, _ string) permission.Trust {
					return permission.Trust{Repository: origin == "repository", Approved: true}
				}
				o.Policy.TrustCommand = func(*sdk.Command) permission.Trust { return c.trust }
			}, plugins...)
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: "do"})
			switch {
			case c.want == ran && err != nil:
				t.Errorf("Prompt = %v", err)
			case c.want != ran && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "do.md")):
				t.Errorf("Prompt = %v, want %q in it and the file", err, c.want)
			}
		})
	}
}

// TestTemplateShellIsAskedFor: the user sees the command and whose it is. A repository's command offers no "always".
func TestTemplateShellIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, repository := range map[string]bool{"user": false, "repository": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, func(o *host.Options) {
				asking(o)
				o.Policy.TrustCommand = func(*sdk.Command) permission.Trust { return permission.Trust{Repository: repository} }
			}, templated(newModel(t, say("done")), "!`git log` !`git push`", map[string]string{"git log": "x"}))
			id := k.session()
			look := func(r *sdk.PermissionRequest) error {
				if r.Metadata["template"] != "/do (/p/.tenon/commands/do.md)" || r.Patterns[0] != "git log" || (len(r.Always) == 0) != repository {
					t.Errorf("asked: %+v", r)
				}
				return k.ReplyPermission(r.ID, sdk.ReplyOnce, "")
			}
			asked := answerAsks(t, k, look, reply(&k, sdk.ReplyReject, ""))
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do"})
			var refusal *sdk.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "!`git push`") {
				t.Errorf("Prompt = %v, want the user's refusal", err)
			}
			if messages := k.messages(id); len(messages) != 0 {
				t.Errorf("%d messages of a prompt that was refused", len(messages))
			}
			if n := asked(); n != 2 {
				t.Errorf("asked %d times, want 2", n)
			}
		})
	}
}

// TestAbortEndsTemplateShell aborts the turn while a command of a template runs.
func TestAbortEndsTemplateShell(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	b := delegating(newModel(t, say("again")), shellTool(nil, running))
	b.commands = []sdk.Command{{Name: "do", Template: "!`sleep`"}}
	k := start(t, nil, b)
	id := k.session()
	done := make(chan error, 1)
	go func() { // ends with the turn; the test waits
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do"})
		done <- err
	}()
	<-running
	if !k.Abort(id) {
		t.Error("Abort found no turn")
	}
	var failed *host.TurnError
	if err := <-done; !errors.As(err, &failed) || failed.Named.Name != sdk.ErrorAborted {
		t.Errorf("Prompt = %v, want it aborted", err)
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go on"}); err != nil {
		t.Errorf("the next prompt: %v", err)
	}
}

// TestTemplatesOfOthers: a third-party plugin runs nothing and reads nothing through the templates of its commands, and a
// repository can only read files in the project.
func TestTemplatesOfOthers(t *testing.T) {
	t.Parallel()
	yes := true
	for name, c := range map[string]struct {
		carrier sdk.Carrier
		trust   permission.Trust
		subtask *bool
		want    map[string]bool // by content: it is attached
		text    string          // of the user; empty: @c.txt
	}{
		"user":                  {sdk.CarrierBuiltin, permission.Trust{}, nil, map[string]bool{"in the project": true, "hunter2": true, "outside": true, "typed": true}, ""},
		"repository":            {sdk.CarrierBuiltin, permission.Trust{Repository: true}, nil, map[string]bool{"in the project": true, "hunter2": false, "outside": false, "typed": true}, ""},
		"repository's subtask":  {sdk.CarrierBuiltin, permission.Trust{Repository: true}, &yes, map[string]bool{"in the project": true, "hunter2": false, "outside": false, "typed": true}, ""},
		"plugin":                {sdk.CarrierProcess, permission.Trust{}, nil, map[string]bool{"in the project": false, "hunter2": false, "outside": false, "typed": true}, ""},
		"a plugin's subtask":    {sdk.CarrierMCP, permission.Trust{}, &yes, map[string]bool{"in the project": false, "hunter2": false, "outside": false, "typed": true}, ""},
		"approved repository's": {sdk.CarrierBuiltin, permission.Trust{Repository: true, Approved: true}, nil, map[string]bool{"outside": false}, ""},
		"typed, too":            {sdk.CarrierBuiltin, permission.Trust{Repository: true}, nil, map[string]bool{"hunter2": true, "outside": false}, "@.env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, say("done")).on(sdk.PurposeSubtask, say("helped"))
			outside := t.TempDir()
			brings := &plugin{name: "brings", carrier: c.carrier, commands: []sdk.Command{{
				Name: "do", Template: "@a.txt @.env @" + outside + "/b.txt $1", Subtask: c.subtask,
			}}}
			if c.carrier != sdk.CarrierBuiltin {
				brings.commands[0].Template += " !`id`"
			}
			k := start(t, func(o *host.Options) {
				o.Config.Permission = nil
				o.Policy.TrustCommand = func(*sdk.Command) permission.Trust { return c.trust }
			}, delegating(m), brings)
			write(t, k.dir, "a.txt", "in the project")
			write(t, k.dir, ".env", "hunter2")
			write(t, k.dir, "c.txt", "typed")
			write(t, outside, "b.txt", "outside")
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: "do", Text: cmp.Or(c.text, "@c.txt")}); err != nil {
				t.Fatal(err)
			}
			all := whole(m.last(sdk.PurposeTurn))
			if c.subtask != nil {
				all = whole(m.last(sdk.PurposeSubtask))
			}
			for content, attached := range c.want {
				if strings.Contains(all, content) != attached {
					t.Errorf("%q attached: %v, want %v in %q", content, !attached, attached, all)
				}
			}
			if c.carrier != sdk.CarrierBuiltin && !strings.Contains(all, "!`id`") {
				t.Errorf("the prompt is %q, want the template's text as it is", all)
			}
		})
	}
}

// TestQuotedArgument: an argument that the template puts in quotes is not a name that the template chose, unlike any other text in quotes.
func TestQuotedArgument(t *testing.T) {
	t.Parallel()
	for template, attached := range map[string]bool{`@"$1"`: true, `@"$1/my notes.md"`: false} {
		m := newModel(t, say("done"))
		outside := t.TempDir()
		write(t, outside, "my notes.md", "outside")
		k := start(t, func(o *host.Options) {
			o.Policy.TrustCommand = func(*sdk.Command) permission.Trust { return permission.Trust{Repository: true} }
		}, base(m), &plugin{name: "brings", commands: []sdk.Command{{Name: "do", Template: template}}})
		argument := outside
		if attached {
			argument = `"` + filepath.Join(outside, "my notes.md") + `"`
		}
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: "do", Text: argument}); err != nil {
			t.Fatal(err)
		}
		if have := strings.Contains(whole(m.last(sdk.PurposeTurn)), "\noutside\n"); have != attached {
			t.Errorf("%s: attached %v, want %v", template, have, attached)
		}
	}
}

// TestTitleOfADelegatedPrompt begins a session with a prompt that a subagent gets.
func TestTitleOfADelegatedPrompt(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done")).on(sdk.PurposeSubtask, say("helped")).on(sdk.PurposeTitle, say("A fine title"))
	b := templated(m, "Look at $1", nil)
	yes := true
	b.commands[0].Subtask = &yes
	k := start(t, nil, b)
	id := k.session()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do", Text: "main.go"}); err != nil {
		t.Fatal(err)
	}
	k.Close(t.Context())
	if s, _, err := k.store.Session(t.Context(), id); err != nil || s.Title != "A fine title" {
		t.Fatalf("title = %q, %v", s.Title, err)
	}
	want(t, "the request for the title", []string{"user: Look at main.go"}, lines(m.last(sdk.PurposeTitle)))
}

// The agent and the model of a command are those of its turn. With subtask: false, the agent may be a subagent.
func TestCommandChoosesForItsTurn(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done"), say("done"), say("done"), say("done"))
	b := templated(m, "Do it", nil)
	no := false
	b.commands[0].Agent, b.commands[0].Subtask = "helper", &no
	b.commands = append(b.commands, sdk.Command{Name: "small", Template: "Do it", Variant: "low"})
	k := start(t, nil, b)
	id := k.session()
	for _, c := range []struct{ in, model, agent, variant string }{
		{"do", "", "helper", ""}, {"small", "", sdk.AgentBuild, "low"}, {"small", "test/model", sdk.AgentBuild, "low"}, {"", "", sdk.AgentBuild, ""},
	} {
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: c.in, Model: c.model, Text: "x"}); err != nil {
			t.Fatal(err)
		}
		messages := k.messages(id)
		if u := messages[len(messages)-2].Info.(*sdk.UserMessage); u.Agent != c.agent || u.Model.Variant != c.variant {
			t.Errorf("command %q: agent %s, variant %q; want %s, %q", c.in, u.Agent, u.Model.Variant, c.agent, c.variant)
		}
		if s, err := k.Session(t.Context(), id); err != nil || s.Agent == "helper" || s.Model != nil && s.Model.Variant != "" {
			t.Errorf("command %q: the session keeps agent %q and model %v, %v", c.in, s.Agent, s.Model, err)
		}
	}
}

// A subagent answers in the user's session only because a command chooses it; a session cannot be left with one.
func TestCommandSubagentNamedByUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, configured string
		subtask           bool
	}{
		"of the prompt":              {agent: "helper"},
		"as default_agent":           {configured: "helper", subtask: true},
		"of the prompt, for subtask": {agent: "helper", configured: "helper", subtask: true},
	} {
		m := newModel(t, say("done")).on(sdk.PurposeSubtask, say("helped"))
		b := templated(m, "Do it", nil)
		b.commands[0].Agent, b.commands[0].Subtask = "helper", &c.subtask
		k := start(t, func(o *host.Options) { o.Config.DefaultAgent = c.configured }, b)
		id := k.session()
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Agent: c.agent, Command: "do"}); !errors.Is(err, host.ErrSubagent) {
			t.Errorf("helper %s: %v, want ErrSubagent", name, err)
		}
		if s, err := k.Session(t.Context(), id); err != nil || s.Agent != "" {
			t.Errorf("helper %s: the session keeps agent %q, %v", name, s.Agent, err)
		}
	}
}

// A hidden agent writes texts for tenon: sessions that name no agent do not get it.
func TestHiddenDefaultAgent(t *testing.T) {
	t.Parallel()
	k := start(t, func(o *host.Options) {
		o.Config.DefaultAgent = "mine"
		o.Config.Agent = map[string]sdk.AgentConfig{"mine": {Hidden: new(true)}}
	}, base(newModel(t, say("done"))))
	id := k.session()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "hi"}); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("Prompt() = %v, want ErrNotFound", err)
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "hi", Agent: "mine"}); err != nil {
		t.Errorf("Prompt() to the agent by its name: %v", err)
	}
}

// A shell line or another prompt without a reply, during the turn of a command, does not change who answers the command.
func TestNoReplyDuringCommand(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("wait", "{}"), say("done"))
	b := templated(m, "Do it", nil)
	no := false
	b.commands[0].Agent, b.commands[0].Subtask = "helper", &no
	var k *kit
	var waits func(context.Context) (*sdk.MessageWithParts, error)
	b.tools = append(b.tools, &tool{id: "wait", run: func(ctx context.Context, call *sdk.ToolCall) (_ *sdk.ToolResult, err error) {
		waits, err = k.Submit(ctx, host.PromptInput{SessionID: call.SessionID, Text: "a note", NoReply: true})
		return &sdk.ToolResult{Output: "waited"}, err
	}})
	k = start(t, nil, b)
	id := k.session()
	system := "You answer in haiku."
	a, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do", System: system})
	if err != nil {
		t.Fatal(err)
	}
	if noted, err := waits(t.Context()); err != nil || noted.Info.Head().ID != a.Info.Head().ID {
		t.Errorf("the note got %+v, %v; want the answer of the turn", noted, err)
	}
	last := m.last(sdk.PurposeTurn)
	if prompt := strings.Join(last.System, "\n"); !strings.Contains(prompt, "You help.") || !strings.Contains(prompt, system) || !strings.Contains(whole(last), "a note") {
		t.Errorf("the turn continued with %q and %q, want the agent and the system prompt of the command, and the note", prompt, whole(last))
	}
	if s, err := k.Session(t.Context(), id); err != nil || s.Agent != sdk.AgentBuild {
		t.Errorf("the session has agent %q, %v", s.Agent, err)
	}
}
