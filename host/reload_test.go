package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// version is a plugin with a tool that says which version of it runs.
func version(v string) *plugin {
	return &plugin{name: "watched", carrier: sdk.CarrierWASM, closed: make(chan struct{}), tools: []sdk.Tool{
		&tool{id: "version", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: v}, nil
		}},
	}}
}

func (p *plugin) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// counted counts how often a plugin is started and what it observes.
type counted struct {
	*plugin
	starts, sessions, closes atomic.Int32
}

func newCounted() *counted {
	c := &counted{plugin: &plugin{name: "counted"}}
	c.plugin.start = func() error { c.starts.Add(1); return nil }
	c.hooks = []sdk.Hook{sdk.OnSessionStart(func(context.Context, *sdk.SessionInput) error { c.sessions.Add(1); return nil })}
	return c
}

func (c *counted) Close(context.Context) error { c.closes.Add(1); return nil }

// slow is a server that ends only after all of its group have been told to.
type slow struct {
	*plugin
	told *sync.WaitGroup
}

func (s *slow) Close(ctx context.Context) error {
	s.told.Done()
	all := make(chan struct{})
	go func() {
		s.told.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestServersCloseTogether: the time that servers take to end does not add up.
func TestServersCloseTogether(t *testing.T) {
	t.Parallel()
	var told sync.WaitGroup
	var servers []sdk.Plugin
	for _, name := range []string{"one", "two", "three"} {
		told.Add(1)
		servers = append(servers, &slow{&plugin{name: name, carrier: sdk.CarrierMCP}, &told})
	}
	k := start(t, nil, append(servers, base(newModel(t)))...)
	if err := k.Host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	told.Wait()
}

// TestReloadBetweenTurns replaces a plugin while a turn and its subagent run: they keep the old one until they end, the next
// turn has the new one, and plugins that stay continue as before.
func TestReloadBetweenTurns(t *testing.T) {
	t.Parallel()
	hold, begun := make(chan struct{}), make(chan struct{})
	m := newModel(t, answer{calls: []toolCall{ask("helper", "x")}, hold: hold, begun: begun}, call("version", `{}`), say("done"), call("version", `{}`), say("done")).
		on(sdk.PurposeSubtask, call("version", `{}`), say("ok"))
	b, kept, one, two := delegating(m), newCounted(), version("one"), version("two")
	k := start(t, nil, b, kept, one)
	id := k.session()
	answered := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		answered <- err
	}()
	<-begun
	if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, two, kept}}); err != nil {
		t.Fatal(err)
	}
	if one.isClosed() {
		t.Error("a plugin was closed that a turn uses")
	}
	close(hold)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	want(t, "results of the turn", []string{"ok", "one"}, k.results(id))
	want(t, "results of its subagent", []string{"one"}, k.results(k.children(id)[0].ID))
	<-one.closed
	k.again(id, "again")
	want(t, "results of the next turn", "two", k.results(id)[2])
	if kept.starts.Load() != 1 || kept.closes.Load() != 0 {
		t.Errorf("what stays was started %d times and closed %d times; want 1 and 0", kept.starts.Load(), kept.closes.Load())
	}
	k.close() // observers have handled all events then
	if n := kept.sessions.Load(); n != 2 {
		t.Errorf("what stays was told of %d sessions; want 2", n)
	}
	if kept.closes.Load() != 1 || !two.isClosed() {
		t.Error("the host left plugins open")
	}
	if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b}}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Reload of a closed host = %v, want ErrClosed", err)
	}
}

// TestReloadThatFails: the old generation stays in use with all its plugins, and everything that the reload
// started is closed.
func TestReloadThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("does not compile")
	bad := func(p *plugin) *plugin { p.start = func() error { return broken }; return p }
	config := sdk.OnConfig(func(context.Context, *sdk.ConfigInput, *sdk.Config) error { return broken })
	config.OnError = sdk.OnErrorStop
	slow := sdk.OnEvent(func(context.Context, *sdk.Event) error { return nil })
	slow.Timeout = time.Hour
	cases := map[string]struct {
		plugins func(next *plugin) []sdk.Plugin
		want    string
	}{
		"a plugin does not start": {func(next *plugin) []sdk.Plugin { return []sdk.Plugin{bad(next)} }, `plugin "watched": start: does not compile`},
		"one twice":               {func(next *plugin) []sdk.Plugin { return []sdk.Plugin{next, version("three")} }, "duplicate plugin"},
		"a bad name":              {func(next *plugin) []sdk.Plugin { return []sdk.Plugin{next, &plugin{name: "A b"}} }, "bad manifest"},
		"a bad hook": {func(next *plugin) []sdk.Plugin {
			return []sdk.Plugin{next, &plugin{name: "other", carrier: sdk.CarrierMCP, hooks: []sdk.Hook{slow}}}
		}, `plugin "other"`},
		"a hook refuses the configuration": {func(next *plugin) []sdk.Plugin {
			return []sdk.Plugin{next, &plugin{name: "other", hooks: []sdk.Hook{config}}}
		}, "does not compile"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, call("version", `{}`), say("done"))
			b, one, two := base(m), version("one"), version("two")
			k := start(t, nil, b, one)
			err := k.Reload(t.Context(), host.ReloadOptions{Plugins: append([]sdk.Plugin{b}, c.plugins(two)...)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Reload = %v, want %q", err, c.want)
			}
			if !two.isClosed() || one.isClosed() {
				t.Errorf("closed: the new one %v, the old one %v; want true and false", two.isClosed(), one.isClosed())
			}
			id, _ := k.prompt("go")
			want(t, "results", []string{"one"}, k.results(id))
		})
	}
}

// A reload that fails while a plugin starts closes it afterwards: it need not expect both at the same time.
func TestReloadFailsDuringStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, slow, release, failed := base(newModel(t)), version("slow"), make(chan struct{}), make(chan error)
		slow.start = func() error {
			<-release
			return nil
		}
		k := start(t, nil, b)
		go func() {
			failed <- k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, slow, version("twice")}})
		}()
		synctest.Wait()
		if slow.isClosed() {
			t.Error("the plugin was closed while it started")
		}
		close(release)
		if err := <-failed; err == nil || !slow.isClosed() {
			t.Errorf("Reload = %v; closed: %v, want true", err, slow.isClosed())
		}
	})
}

// TestReloadKeepsWhatWaits: a question to the user and a queued prompt outlive the generation.
func TestReloadKeepsWhatWaits(t *testing.T) {
	t.Parallel()
	act := &tool{id: "act", prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
		return []sdk.PermissionRequest{{Permission: "act", Patterns: []string{"x"}}}, nil
	}, run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: "acted"}, nil
	}}
	m := newModel(t, call("act", `{}`), say("both"))
	b := base(m)
	b.tools = []sdk.Tool{act}
	k := start(t, asking, b, version("one"))
	sub := k.Subscribe(4096, false)
	id := k.session()
	var answers []func(context.Context) (*sdk.MessageWithParts, error)
	prompt := func(text string) {
		answer, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	prompt("first")
	asked := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
	prompt("second")
	if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, version("two")}}); err != nil {
		t.Fatal(err)
	}
	if err := k.ReplyPermission(asked.ID, sdk.ReplyOnce, ""); err != nil {
		t.Fatal(err)
	}
	for _, answer := range answers {
		if _, err := answer(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want(t, "results", []string{"acted"}, k.results(id))
	if got := lines(m.last(sdk.PurposeTurn)); !cmp.Equal(got[len(got)-1], "user: second") {
		t.Errorf("messages %q, want both prompts answered", got)
	}
}

// TestQuarantineIsRemembered: the owner of the host learns of it once, a quarantined plugin starts in quarantine, and a new build ends it.
func TestQuarantineIsRemembered(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	flaky := func() *plugin {
		return &plugin{name: "flaky", carrier: sdk.CarrierProcess, hooks: []sdk.Hook{
			sdk.OnChatSystem(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatSystemValue) error {
				if broken.Load() {
					return errors.New("no luck")
				}
				v.System = append(v.System, "flaky was here")
				return nil
			}),
		}}
	}
	var mu sync.Mutex
	remembered := map[string]string{}
	change := func(o *host.Options) {
		o.Quarantine = func(plugin, reason string) { mu.Lock(); defer mu.Unlock(); remembered[plugin] += reason }
	}
	m := newModel(t, say("1"), say("2"), say("3"), say("4"))
	b, first := base(m), flaky()
	k := start(t, change, b, first)
	id := k.titled()
	for range 4 {
		k.again(id, "go")
	}
	mu.Lock()
	want(t, "remembered", map[string]string{"flaky": "3 failures in a row, the last: no luck"}, remembered)
	mu.Unlock()

	broken.Store(false)
	called := func(k *kit) bool {
		m.on(sdk.PurposeTurn, say("ok"))
		k.prompt("go")
		system := m.last(sdk.PurposeTurn).System
		return system[len(system)-1] == "flaky was here"
	}
	if called(k) {
		t.Error("a quarantined plugin was called")
	}
	reload := func(p sdk.Plugin, quarantined map[string]string) {
		if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, p}, Quarantined: quarantined}); err != nil {
			t.Fatal(err)
		}
	}
	if reload(first, nil); called(k) {
		t.Error("a reload ended the quarantine of a plugin that stayed")
	}
	second := flaky()
	if reload(second, map[string]string{"flaky": "it crashed"}); called(k) {
		t.Error("a plugin that starts quarantined was called")
	}
	third := flaky()
	if reload(third, nil); !called(k) {
		t.Error("a new build begins with the quarantine of the old one")
	}
	if reload(third, map[string]string{"flaky": "old news"}); !called(k) {
		t.Error("a reload quarantined a plugin that stayed and works")
	}

	old := start(t, func(o *host.Options) { o.Quarantined = map[string]string{"flaky": "it crashed"} }, base(m), flaky())
	if called(old) {
		t.Error("a plugin that was quarantined earlier was called")
	}
	for _, h := range old.Hooks() {
		want(t, "why", "it crashed", h.Quarantined)
	}
}

// TestFailuresAcrossReload counts the failures of a plugin that stays before and after a reload, and those of earlier runs only for a new build.
func TestFailuresAcrossReload(t *testing.T) {
	t.Parallel()
	flaky := func() *plugin {
		return &plugin{name: "flaky", carrier: sdk.CarrierProcess, hooks: []sdk.Hook{
			sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error { return errors.New("no luck") }),
		}}
	}
	m := newModel(t, say("1"), say("2"), say("3"), say("4"))
	b, first := base(m), flaky()
	k := start(t, nil, b, first)
	id := k.titled()
	failures := func(after string, want string) {
		t.Helper()
		k.again(id, "go")
		if got := fmt.Sprint(k.Failures()); got != want {
			t.Errorf("failures %s: %s, want %s", after, got, want)
		}
	}
	failures("at first", "map[flaky:map[chat.system.transform:1]]")
	reload := func(p *plugin) {
		t.Helper()
		earlier := map[string]map[string]int{"flaky": {string(sdk.PointChatSystem): 0}}
		if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{b, p}, Failures: earlier}); err != nil {
			t.Fatal(err)
		}
	}
	reload(first)
	failures("of a plugin that stayed", "map[flaky:map[chat.system.transform:2]]")
	reload(flaky())
	failures("of a new build", "map[flaky:map[chat.system.transform:1]]")
}

// TestQuarantineDuringReload tells the owner of the plugins, not that of earlier ones with the same name, of a plugin whose hook at config is
// quarantined before its generation is in force.
func TestQuarantineDuringReload(t *testing.T) {
	t.Parallel()
	remembered := map[string]string{}
	b := base(newModel(t))
	k := start(t, func(o *host.Options) {
		o.Quarantine = func(plugin, reason string) { t.Errorf("quarantine of the old %s: %s", plugin, reason) }
	}, b, &plugin{name: "flaky", carrier: sdk.CarrierProcess})
	flaky := &plugin{name: "flaky", carrier: sdk.CarrierProcess, hooks: []sdk.Hook{
		sdk.OnConfig(func(context.Context, *sdk.ConfigInput, *sdk.Config) error { return errors.New("no luck") }),
	}}
	o := host.ReloadOptions{
		Plugins: []sdk.Plugin{b, flaky}, Failures: map[string]map[string]int{"flaky": {"config": 2}},
		Quarantine: func(plugin, reason string) { remembered[plugin] = reason },
	}
	if err := k.Reload(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want(t, "remembered", map[string]string{"flaky": "3 failures in a row, the last: no luck"}, remembered)
}

// TestReloadHammer reloads while many sessions work, and closes in the middle of it. Nothing is lost, and every plugin that was
// started is closed once.
func TestReloadHammer(t *testing.T) {
	t.Parallel()
	const sessions, turns = 4, 6
	p := base(nil)
	p.client = streamFunc(func(req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
		if last := req.Messages[len(req.Messages)-1]; last.Role != sdk.RoleTool {
			if err := sink(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: "c", CallID: "c", Tool: "version"}); err != nil {
				return err
			}
		}
		return finish(sink)
	})
	logs := &records{}
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, p, version("0"))
	var working, reloading sync.WaitGroup
	var all []*plugin
	var started sync.Map // of *plugin
	stop := make(chan struct{})
	reloading.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			v := version(fmt.Sprint(n))
			v.start = func() error {
				started.Store(v, true)
				return nil
			}
			all = append(all, v)
			if err := k.Reload(t.Context(), host.ReloadOptions{Plugins: []sdk.Plugin{p, v}}); err != nil && !errors.Is(err, host.ErrClosed) {
				t.Error(err)
			}
			k.Hooks()
			k.Agents()
		}
	})
	for range sessions {
		working.Go(func() {
			id := k.titled()
			for range turns {
				k.again(id, "go")
			}
			for _, r := range k.results(id) {
				if strings.Contains(r, "not found") {
					t.Errorf("result %q of a turn that lost its plugin", r)
				}
			}
		})
	}
	working.Wait()
	if err := k.Host.Close(t.Context()); err != nil { // while it reloads
		t.Error(err)
	}
	close(stop)
	reloading.Wait()
	open := 0
	for _, v := range all {
		// The start of the last one may still be under way: the reload that began it was interrupted.
		if _, ok := started.Load(v); ok && !v.isClosed() {
			open++
		}
	}
	want(t, "plugins left open", 0, open)
	if logs.has("not closed cleanly") {
		t.Errorf("logged %q, want that every plugin was closed once", logs.all())
	}
}
