package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// unsound is a third-party plugin whose contributions all fail in one way.
type unsound struct {
	*plugin
	fault func() error
}

func newUnsound(fault func() error) *unsound {
	return &unsound{plugin: &plugin{name: "bad", carrier: sdk.CarrierProcess}, fault: fault}
}

func (f *unsound) Tools() []sdk.Tool {
	if f.fault() != nil {
		return nil
	}
	return []sdk.Tool{echo("theirs")}
}

func (f *unsound) Agents() []sdk.Agent                             { _ = f.fault(); return nil }
func (f *unsound) Commands(context.Context) ([]sdk.Command, error) { return nil, f.fault() }
func (f *unsound) Skills(context.Context) ([]sdk.Skill, error)     { return nil, f.fault() }

func (f *unsound) Reference(context.Context, string) (sdk.Parts, bool, error) {
	return nil, false, f.fault()
}

// skills lists the skills.
func skills() *tool {
	return &tool{id: "skills", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		list, err := call.Host.(sdk.SkillFinder).Skills(ctx)
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		return &sdk.ToolResult{Output: strings.Join(names, ",")}, err
	}}
}

// skilled contributes one skill.
type skilled struct{ *plugin }

func (s *skilled) Skills(context.Context) ([]sdk.Skill, error) {
	return []sdk.Skill{{Name: "cook"}}, nil
}

// TestBadContributionsCostTheirPlugin has a plugin whose every contribution fails: the turn is the same as without the plugin
// and not much slower, and users see each failure once.
func TestBadContributionsCostTheirPlugin(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		fault func(release chan struct{}) error
		told  []string // what goes wrong beside skills and references
		took  time.Duration
	}{
		"fails":  {func(chan struct{}) error { return errors.New("broken") }, []string{"commands skipped: broken"}, 0},
		"panics": {func(chan struct{}) error { panic("broken") }, []string{"commands skipped: panicked: broken", "tools skipped: panicked: broken", "agents skipped: panicked: broken"}, 0},
		"hangs": {func(release chan struct{}) error { <-release; return nil },
			[]string{"commands skipped: no answer in 2s", "tools skipped: no answer in 2s", "agents skipped: no answer in 2s"},
			4*2*time.Second + 10*time.Second}, // agents, commands, tools and skills, then what is mentioned, once each
	}
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, call("skills", `{}`), say("done"), say("again"))
				b := base(m)
				b.tools = []sdk.Tool{skills()}
				b.commands = []sdk.Command{{Name: "greet", Template: "Greet @bob and me@example.org"}}
				logs := &records{}
				release := make(chan struct{})
				t.Cleanup(func() { close(release) })
				bad := newUnsound(func() error { return c.fault(release) })
				k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, b, bad, &skilled{&plugin{name: "chef", carrier: sdk.CarrierMCP}})
				begun := time.Now()
				id := k.session()
				for _, text := range []string{"done", "again"} {
					got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "greet"})
					if err != nil {
						t.Fatal(err)
					}
					want(t, "answer", text, textOf(got))
				}
				if took := time.Since(begun); took < c.took || took > c.took+500*time.Millisecond {
					t.Errorf("two turns took %s, want %s", took, c.took)
				}
				want(t, "results", []string{"cook"}, k.results(id))
				want(t, "prompt", "user: Greet @bob and me@example.org", lines(m.last(sdk.PurposeTurn))[0])
				for _, text := range append(c.told, "skills skipped: ", "@bob stays unchanged: ") {
					if !logs.has("plugin bad: ", text) {
						t.Errorf("no message %q: %q", text, logs.all())
					}
				}
				n := 0
				for _, line := range logs.all() {
					if strings.Contains(line, "commands skipped") {
						n++
					}
				}
				want(t, "how often users see the same message", 1, n)
			})
		})
	}
}

// TestHangingPluginComesBack asks a plugin again once it answered.
func TestHangingPluginComesBack(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newUnsound(func() error { <-release; return nil })
	m := newModel(t, call("theirs", `{}`), say("done"), call("theirs", `{"n":1}`), say("again"))
	logs := &records{}
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, base(m), f)
	id, _ := k.prompt("go")
	if got := k.results(id)[0]; !strings.Contains(got, `tool "theirs" not found`) {
		t.Errorf("result = %q, want that the tool is not there", got)
	}
	close(release)
	for { // the abandoned goroutine notes that it is over after it was released
		if names := toolNames(m.last(sdk.PurposeTurn)); len(names) > 0 {
			break
		}
		m.on(sdk.PurposeTurn, say("and again"))
		k.again(id, "once more")
		if t.Context().Err() != nil {
			t.Fatal("the plugin did not come back")
		}
	}
}

func toolNames(r *sdk.ModelRequest) []string {
	names := []string{}
	for _, d := range r.Tools {
		names = append(names, d.ID)
	}
	return names
}

// TestBadDefinitionsCostTheTool: a definition that no model server accepts is not sent.
func TestBadDefinitionsCostTheTool(t *testing.T) {
	t.Parallel()
	theirs := &plugin{name: "theirs", carrier: sdk.CarrierMCP, tools: []sdk.Tool{
		echo("bad id"), echo(strings.Repeat("x", 65)), &tool{id: "no_schema", schema: `[]`}, &tool{id: "garbage", schema: `{`}, echo("good"),
	}}
	logs := &records{}
	m := newModel(t, say("done"))
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, base(m), theirs)
	k.prompt("go")
	want(t, "tools", []string{"good"}, toolNames(m.last(sdk.PurposeTurn)))
	for _, text := range []string{`tool "bad id" skipped`, `tool "no_schema" skipped`, `tool "garbage" skipped`} {
		if !logs.has("plugin theirs: ", text) {
			t.Errorf("no message %q: %q", text, logs.all())
		}
	}
}

// TestBadHooksOfOthersLeaveThemOut: a plugin with hooks that the engine refuses is left out, and the host starts without it.
func TestBadHooksOfOthersLeaveThemOut(t *testing.T) {
	t.Parallel()
	slow := sdk.OnEvent(func(context.Context, *sdk.Event) error { return nil })
	slow.Timeout = time.Hour
	logs := &records{}
	twin := base(newModel(t))
	twin.name, twin.carrier = "twin", sdk.CarrierProcess
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, base(newModel(t, say("done"))),
		&plugin{name: "slow", carrier: sdk.CarrierWASM, hooks: []sdk.Hook{slow}}, twin)
	k.prompt("go")
	for _, text := range []string{"plugin slow is skipped: ", `plugin twin is skipped: plugin twin: duplicate protocol "test"`} {
		if !logs.has(text) {
			t.Errorf("logged %q, want %q", logs.all(), text)
		}
	}
}

// bounding is a tool that bounds its calls.
type bounding struct {
	*tool
	deadline time.Duration
}

func (b *bounding) Deadline() time.Duration { return b.deadline }

// TestToolDeadline checks the deadline in the context of tool calls.
func TestToolDeadline(t *testing.T) {
	t.Parallel()
	var left time.Duration
	var bounded bool
	look := &tool{id: "look", run: func(ctx context.Context, _ *sdk.ToolCall) (*sdk.ToolResult, error) {
		at, ok := ctx.Deadline()
		left, bounded = time.Until(at), ok
		return &sdk.ToolResult{Output: "ok"}, nil
	}}
	cases := map[string]struct {
		carrier sdk.Carrier
		tool    sdk.Tool
		want    time.Duration // 0: none
	}{
		"built in":           {sdk.CarrierBuiltin, look, 0},
		"built in, bounding": {sdk.CarrierBuiltin, &bounding{look, 30 * time.Second}, 30 * time.Second},
		"another's":          {sdk.CarrierMCP, look, sdk.DefaultToolTimeout},
		"shorter":            {sdk.CarrierMCP, &bounding{look, 20 * time.Second}, 20 * time.Second},
		"longer":             {sdk.CarrierWASM, &bounding{look, 5 * time.Minute}, 5 * time.Minute},
		"too long":           {sdk.CarrierProcess, &bounding{look, 24 * time.Hour}, 10 * time.Minute},
		"nothing":            {sdk.CarrierProcess, &bounding{look, 0}, sdk.DefaultToolTimeout},
	}
	for name, c := range cases {
		k := start(t, nil, base(newModel(t, call("look", `{}`), say("done"))), &plugin{name: "theirs", carrier: c.carrier, tools: []sdk.Tool{c.tool}})
		k.prompt("go")
		if bounded != (c.want > 0) || bounded && (left > c.want || left < c.want-10*time.Second) {
			t.Errorf("%s: %s left (bounded %v), want %s", name, left, bounded, c.want)
		}
	}
}

// preparing is a tool whose Prepare hangs, whatever its context says.
type preparing struct {
	*tool
	release chan struct{}
}

func (p *preparing) Prepare(ctx context.Context, _ *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	<-p.release
	return nil, ctx.Err()
}

// TestPrepareThatHangs is bounded, too. The time is not real.
func TestPrepareThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &preparing{echo("slow"), make(chan struct{})}
		t.Cleanup(func() { close(p.release) })
		m := newModel(t, call("slow", `{}`), say("done"))
		k := start(t, nil, base(m), &plugin{name: "theirs", carrier: sdk.CarrierProcess, tools: []sdk.Tool{p}})
		id, _ := k.prompt("go")
		want(t, "result", []string{"tool slow: no answer in 10s"}, k.results(id))
	})
}
