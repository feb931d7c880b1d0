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

func TestCommands(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		template, arguments, want string
	}{
		"arguments by number": {"Compare $1 with $2.", "a b c", "Compare a with b c."},
		"all arguments":       {"Do: $ARGUMENTS!", "this and that", "Do: this and that!"},
		"none in the text":    {"Review.", "main.go", "Review.\n\nmain.go"},
		"none given":          {"Review.", "", "Review."},
	}
	for name, c := range cases {
		m := newModel(t, say("ok"))
		b := base(m)
		b.commands = []sdk.Command{{Name: "do", Template: c.template}}
		k := start(t, nil, b)
		sub := k.Subscribe(1024, false)
		id := k.session()
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do", Text: c.arguments}); err != nil {
			t.Fatal(err)
		}
		want(t, name, "user: "+c.want, lines(m.last(sdk.PurposeTurn))[0])
		e := next(t, sub, ofType(sdk.EventCommandExecuted)).Properties.(*sdk.CommandInfo)
		if e.Name != "do" || e.Arguments != c.arguments || e.SessionID != id || e.MessageID != k.messages(id)[0].Info.Head().ID {
			t.Errorf("%s: event = %+v", name, e)
		}
	}
}

func TestCommandErrors(t *testing.T) {
	t.Parallel()
	b := base(newModel(t))
	b.commands = []sdk.Command{
		{Name: "one", Template: "x"}, {Name: "lost", Template: "x", Agent: "missing"}, {Name: "odd", Template: "x", Model: "no/model"},
		{Name: "much", Template: strings.Repeat("$1", 100)},
	}
	k := start(t, nil, b)
	for name, pieces := range map[string][]string{
		"two":  {`command "two"`, "one, lost, odd, much"},
		"lost": {`agent "missing"`, "build"},
		"odd":  {`unknown provider "no"`, "test"},
		"much": {"100 placeholders", "more than 32 MiB"},
	} {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Command: name, Text: strings.Repeat("x", 400<<10)})
		for _, piece := range pieces {
			if err == nil || !strings.Contains(err.Error(), piece) {
				t.Errorf("command %s: Prompt = %v, want %q in it", name, err, piece)
			}
		}
	}
}

// TestAgentsOfTheConfiguration changes, adds and removes agents.
func TestAgentsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	temperature := 0.25
	m := newModel(t, say("a"), say("b"), say("c"))
	b := base(m)
	second := &plugin{name: "second", agents: []sdk.Agent{{Name: "helper", Mode: sdk.ModeAll, Prompt: "You replaced."}}}
	k := start(t, func(o *host.Options) {
		o.Config.DefaultAgent = "mine"
		o.Config.Agent = map[string]sdk.AgentConfig{
			"mine":     {Prompt: "You are mine.", Temperature: &temperature, Model: "test/special"},
			"build":    {Prompt: "You were changed."},
			"disabled": {Disable: true},
			"title":    {Disable: true},
		}
	}, b, second)
	id, _ := k.prompt("hello")
	r := m.last(sdk.PurposeTurn)
	if r.System[0] != "You are mine." || r.Params.Temperature == nil || *r.Params.Temperature != 0.25 || r.Model.ID != "special" {
		t.Errorf("system %q, temperature %v, model %s; want those of the configured agent", r.System[0], r.Params.Temperature, r.Model.ID)
	}
	for agent, system := range map[string]string{"build": "You were changed.", "helper": "You replaced."} {
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "x", Agent: agent}); err != nil {
			t.Fatal(err)
		}
		want(t, agent, system, m.last(sdk.PurposeTurn).System[0])
	}
	if n := len(m.of(sdk.PurposeTitle)); n != 0 {
		t.Errorf("%d titles were asked for, though the agent is disabled", n)
	}
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "x", Agent: "disabled"})
	if !errors.Is(err, host.ErrNotFound) {
		t.Errorf("Prompt with an agent that is not there = %v, want %v", err, host.ErrNotFound)
	}
}

// TestHeadersOfTheConfiguration: configured headers replace those that the host sends, in any spelling. The provider's connection
// adds the provider's own.
func TestHeadersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("a"))
	k := start(t, func(o *host.Options) {
		o.Config.Provider = map[string]sdk.ProviderConfig{"test": {
			Options: sdk.ProviderOptions{Headers: map[string]string{"user-agent": "mine"}},
			Models:  map[string]sdk.ModelConfig{"m": {Headers: map[string]string{"X-SESSION-ID": "own"}}},
		}}
	}, base(m))
	id, _ := k.prompt("hello")
	want(t, "headers", map[string]string{"X-SESSION-ID": "own", "X-Session-Affinity": id}, m.last(sdk.PurposeTurn).Headers)
}

// Clients of models whose servers bill prompts distinguish the first step of a turn from the others.
func TestStepOfTheRequest(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("none", `{}`), say("a"), say("b"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("hello")
	want(t, "step after a call", 2, m.last(sdk.PurposeTurn).Step)
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "again"}); err != nil {
		t.Fatal(err)
	}
	want(t, "step of the next prompt", 1, m.last(sdk.PurposeTurn).Step)
}

func TestSubagentIsNoMainAgent(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t)))
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "x", Agent: "helper"})
	if err == nil || !strings.Contains(err.Error(), "is a subagent") {
		t.Errorf("Prompt = %v, want that it is a subagent", err)
	}
}

// catalog is a plugin with providers and one protocol.
type catalog struct {
	plugin
	list []sdk.ProviderInfo
}

func (c *catalog) Providers() []sdk.ProviderInfo { return c.list }

func info(id string, env ...string) sdk.ProviderInfo {
	models := map[string]sdk.Model{"big": {ToolCall: true}, "small": {}}
	return sdk.ProviderInfo{ID: id, Protocol: "test", Env: env, Default: "big", Models: models}
}

// TestModelChoice picks the model of a session that names none.
func TestModelChoice(t *testing.T) {
	t.Parallel()
	providers := []sdk.ProviderInfo{info("first", "FIRST_KEY"), info("second", "SECOND_KEY", "OTHER_KEY"), info("offline")}
	cases := map[string]struct {
		config  sdk.Config
		environ []string
		want    string
		reason  string
		err     string
	}{
		"the configured one":       {config: sdk.Config{Model: "second/small"}, environ: []string{"FIRST_KEY=x"}, want: "second/small", reason: "configuration"},
		"a key in the environment": {environ: []string{"SECOND_KEY=x"}, want: "second/big", reason: "SECOND_KEY is set"},
		"the first with a key":     {environ: []string{"OTHER_KEY=x", "FIRST_KEY=y"}, want: "first/big", reason: "FIRST_KEY is set"},
		"an empty key is none":     {environ: []string{"FIRST_KEY="}, want: "offline/big", reason: "no key"},
		"nothing":                  {want: "offline/big", reason: "no key"},
		"a key in the configuration": {
			config: sdk.Config{Provider: map[string]sdk.ProviderConfig{"second": {Options: sdk.ProviderOptions{APIKey: "x"}}}},
			want:   "second/big", reason: "provider.second.options.apiKey",
		},
		"a disabled provider":      {config: sdk.Config{DisabledProviders: []string{"first"}}, environ: []string{"FIRST_KEY=x", "SECOND_KEY=y"}, want: "second/big", reason: "SECOND_KEY"},
		"only enabled providers":   {config: sdk.Config{EnabledProviders: []string{"second"}}, environ: []string{"FIRST_KEY=x", "SECOND_KEY=y"}, want: "second/big", reason: "SECOND_KEY"},
		"none is left":             {config: sdk.Config{EnabledProviders: []string{"gone"}}, err: "set model in tenon.json or pass -m"},
		"an unknown provider":      {config: sdk.Config{Model: "none/x"}, err: `unknown provider "none"; known here: first, offline, second`},
		"no provider at all":       {config: sdk.Config{Model: "big"}, err: "want provider/model"},
		"one that is switched off": {config: sdk.Config{Model: "first/big", DisabledProviders: []string{"first"}}, err: "switched off by disabled_providers"},
		"a model off the list":     {config: sdk.Config{Model: "first/big", Provider: map[string]sdk.ProviderConfig{"first": {Blacklist: []string{"big"}}}}, err: "first.whitelist or blacklist"},
		"a model on no list":       {config: sdk.Config{Model: "first/big", Provider: map[string]sdk.ProviderConfig{"first": {Whitelist: []string{"small"}}}}, err: "first.whitelist or blacklist"},
		"a model unknown so far":   {config: sdk.Config{Model: "first/newer"}, want: "first/newer", reason: "configuration"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &catalog{plugin: plugin{name: "catalog", model: newModel(t)}, list: providers}
			k := start(t, func(o *host.Options) { o.Config, o.Environ = &c.config, c.environ }, p)
			got, err := k.DefaultModel(t.Context())
			if c.err != "" {
				if !errors.Is(err, host.ErrModel) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("DefaultModel = %v, want %v with %q", err, host.ErrModel, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if ref := got.Model.Ref().String(); ref != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("DefaultModel = %s because %q, want %s because %q", ref, got.Reason, c.want, c.reason)
			}
		})
	}
}

// TestModelThatCannotBeUsed prompts with models whose provider is not ready.
func TestModelThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	odd := info("odd")
	odd.Protocol = "morse"
	p := &catalog{plugin: plugin{name: "catalog", model: newModel(t)}, list: []sdk.ProviderInfo{info("keyed", "A_KEY", "B_KEY"), odd}}
	k := start(t, nil, p, &plugin{name: "agents", agents: base(nil).agents})
	for model, piece := range map[string]string{
		"keyed/big": "set A_KEY or B_KEY or provider.keyed.options.apiKey in tenon.json",
		"odd/big":   `protocol "morse" is unknown; set provider.odd.protocol to one of test`,
	} {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "x", Model: model})
		if !errors.Is(err, host.ErrModel) || !strings.Contains(err.Error(), piece) {
			t.Errorf("%s: Prompt = %v, want %q", model, err, piece)
		}
	}
}

// TestSecretsStayOut gives shell commands the environment without the keys of providers.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("env", `{}`), say("ok"))
	env := &tool{id: "env"}
	env.run = shellEnv
	p := &catalog{plugin: *base(m), list: append(base(m).Providers(), info("first", "FIRST_KEY"))}
	p.tools = []sdk.Tool{env}
	k := start(t, func(o *host.Options) {
		o.Environ = []string{"PATH=/of/project", "FIRST_KEY=secret", "HOME=/root", `TENON_CONFIG_CONTENT={"apiKey":"sk-123456789"}`, "MINE=sk-123456789", "SHORT=x"}
		o.UserSecrets = []string{"sk-123456789", "x"}
		o.Secrets = append(o.UserSecrets, "/of/project")
	}, p)
	id, _ := k.prompt("go")
	want(t, "environment", []string{"PATH=/of/project HOME=/root SHORT=x"}, k.results(id))
}

// TestRefusedQueuedPrompt sends a prompt that cannot be used into a running turn: it fails by itself, and
// the turn goes on as it was, with its agent and model.
func TestRefusedQueuedPrompt(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	m := newModel(t, answer{calls: []toolCall{{tool: "echo", args: "{}"}}, begun: begun, hold: hold}, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	b.agents = append(b.agents, sdk.Agent{Name: "plan", Mode: sdk.ModePrimary, Prompt: "You plan."})
	k := start(t, nil, b)
	id := k.titled()
	first := make(chan string, 1)
	go func() {
		a, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "one"})
		if err != nil {
			t.Error(err)
			a = &sdk.MessageWithParts{}
		}
		first <- textOf(a)
	}()
	<-begun
	second, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "two", Agent: "plan", Model: "none/x"})
	if err != nil {
		t.Fatal(err)
	}
	close(hold)
	if _, err := second(t.Context()); !errors.Is(err, host.ErrModel) {
		t.Errorf("the queued prompt = %v, want %v", err, host.ErrModel)
	}
	want(t, "the answer", "done", <-first)
	r := m.last(sdk.PurposeTurn)
	want(t, "the agent", "You build.", r.System[0])
	want(t, "the conversation", []string{"user: one", "assistant: call echo {}", "tool: {}"}, lines(r))
}

const lastStep = "This is the last step of this turn: tools can no longer be called. Answer now with what was done, what is left to do and what you would do next."

// TestQueuedPrompts sends prompts into a running turn; what the model gets next depends on what they are.
func TestQueuedPrompts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		first  answer
		queued host.PromptInput
		rest   []answer
		steps  int
		want   []string
	}{
		"behind the answer": {
			say("one"), host.PromptInput{Text: "next"}, []answer{say("two")}, 0,
			[]string{"user: go", "assistant: one", "user: next"},
		},
		"with the results": {
			call("echo", "{}"), host.PromptInput{Text: "next"}, []answer{say("two")}, 0,
			[]string{"user: go", "assistant: call echo {}", "tool: {}", "user: next"},
		},
		"a note in the middle of the work": {
			call("echo", "{}"), host.PromptInput{Text: "by the way", NoReply: true}, []answer{say("two")}, 0,
			[]string{"user: go", "assistant: call echo {}", "tool: {}", "user: by the way"},
		},
		"a note behind the answer": {
			say("one"), host.PromptInput{Text: "by the way", NoReply: true}, nil, 0,
			[]string{"user: go"},
		},
		"its steps are its own": {
			call("echo", "{}"), host.PromptInput{Text: "next"}, []answer{call("echo", `{"n":1}`), say("two")}, 2,
			[]string{"user: go", "assistant: call echo {}", "tool: {}", "user: next", `assistant: call echo {"n":1}`, `tool: {"n":1}`, "user: " + lastStep},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, hold := make(chan struct{}), make(chan struct{})
			c.first.begun, c.first.hold = begun, hold
			m := newModel(t, append([]answer{c.first}, c.rest...)...)
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			b.agents[0].Steps = c.steps
			queueOnly, stored := context.WithCancel(t.Context())
			k := faultyKit(t, &faulty{onSubm: stored}, b)
			id := k.titled()
			sub := k.Subscribe(4096, false)
			first := make(chan error, 1)
			go func() {
				_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
				first <- err
			}()
			<-begun
			c.queued.SessionID = id
			if _, err := k.Prompt(queueOnly, c.queued); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			close(hold)
			if err := <-first; err != nil {
				t.Error(err)
			}
			untilIdle(t, sub)
			if n := len(k.messages(id)); n != 2+len(c.rest)+1 {
				t.Errorf("%d messages, want the prompts and %d answers", n, 1+len(c.rest))
			}
			want(t, "the last request", c.want, lines(m.last(sdk.PurposeTurn)))
			if n := len(m.of(sdk.PurposeTurn)); n != 1+len(c.rest) {
				t.Errorf("%d requests, want %d", n, 1+len(c.rest))
			}
		})
	}
}

// TestPriceOver200K uses the higher tier for a long prompt.
func TestPriceOver200K(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[sdk.Tokens]string{
		{Input: 200_000, Output: 1}:                                  "0.200002",
		{Input: 200_001, Output: 1}:                                  "0.400006",
		{Input: 1, Cache: sdk.CacheCount{Read: 200_000}}:             "0.020002",
		{Input: 1, Output: 1, Cache: sdk.CacheCount{Write: 200_000}}: "0.000006",
		{Input: 10, Output: 5, Reasoning: 5}:                         "0.00003",
	} {
		m := newModel(t, answer{text: "x", tokens: tokens})
		b := base(m)
		b.cost = sdk.ModelCost{Input: 1_000_000, Output: 2_000_000, Over200K: &sdk.ModelCost{Input: 2_000_000, Output: 4_000_000, CacheRead: 100_000}}
		k := start(t, nil, b)
		_, got := k.prompt("x")
		if cost := fmt.Sprint(got.Info.(*sdk.AssistantMessage).Cost); cost != want {
			t.Errorf("cost of %+v = %s, want %s", tokens, cost, want)
		}
	}
}

// TestKeyIsNotSentToAForeignAddress withholds a key of the environment from a provider whose address came
// with the project.
func TestKeyIsNotSentToAForeignAddress(t *testing.T) {
	t.Parallel()
	p := &catalog{plugin: *base(newModel(t)), list: []sdk.ProviderInfo{info("first", "FIRST_KEY")}} // a request fails the test
	k := start(t, func(o *host.Options) {
		o.Environ = []string{"FIRST_KEY=secret"}
		o.Foreign = map[string]string{"first": "tenon.json:3"}
		o.Config = &sdk.Config{Provider: map[string]sdk.ProviderConfig{"first": {Options: sdk.ProviderOptions{BaseURL: "https://evil.example"}}}}
	}, p)
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "x", Model: "first/big"})
	if !errors.Is(err, host.ErrModel) || !strings.Contains(err.Error(), "tenon.json:3") || !strings.Contains(err.Error(), "FIRST_KEY is not sent there") {
		t.Errorf("Prompt = %v, want that the key is withheld", err)
	}
}
