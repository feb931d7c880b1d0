package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

// host is a host that can nothing.
type host struct{}

func (host) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (host) Project() sdk.Project     { return sdk.Project{} }
func (host) Options() json.RawMessage { return json.RawMessage("null") }

// able is a host that can everything.
type able struct{ host }

func (able) Config() *sdk.Config { return &sdk.Config{Username: "me"} }
func (able) CallTool(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{}, nil
}
func (able) SessionMessages(context.Context, string) ([]sdk.MessageWithParts, error) { return nil, nil }
func (able) AskPermission(context.Context, sdk.PermissionRequest) error              { return nil }
func (able) AskUser(context.Context, string, []sdk.Question) ([][]string, error)     { return nil, nil }
func (able) Sample(context.Context, sdk.SampleRequest) (*sdk.SampleResult, error) {
	return &sdk.SampleResult{}, nil
}
func (able) Events(context.Context, int) <-chan sdk.Event { return make(chan sdk.Event, 1) }

// greedy is a plugin that contributes more than its manifest says.
type greedy struct{ sdk.Bundle }

func (*greedy) Providers() []sdk.ProviderInfo { return []sdk.ProviderInfo{{ID: "asked"}, {ID: "more"}} }
func (*greedy) Protocols() []sdk.Protocol     { return []sdk.Protocol{{Name: "asked"}, {Name: "more"}} }
func (*greedy) Agents() []sdk.Agent           { return []sdk.Agent{{Name: "asked"}, {Name: "more"}} }
func (*greedy) Commands(context.Context) ([]sdk.Command, error) {
	return []sdk.Command{{Name: "asked"}, {Name: "more"}}, nil
}
func (*greedy) Skills(context.Context) ([]sdk.Skill, error) { return []sdk.Skill{{Name: "more"}}, nil }

// TestHoldsToWhatWasApproved runs a plugin that contributes more at run time than it was approved with.
func TestHoldsToWhatWasApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var log bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
	hook := func(point sdk.Point, name string, reads, writes []string) sdk.Hook {
		return sdk.Hook{Point: point, Name: name, Reads: reads, Writes: writes}
	}
	tool := func(id string) sdk.Tool { return sdk.FuncTool(sdk.ToolDefinition{ID: id}, nil) }
	p.process.make = func(u plugins.Unit) sdk.Plugin {
		return &greedy{Bundle: sdk.Bundle{
			Info: sdk.Manifest{Name: "squatter", Carrier: sdk.CarrierBuiltin},
			HookList: []sdk.Hook{
				hook(sdk.PointToolBefore, "", []string{"/args/path"}, nil),
				hook(sdk.PointToolBefore, "narrower", []string{"/args/a/b"}, []string{"/args/a"}),
				hook(sdk.PointToolBefore, "wider", []string{""}, nil),
				hook(sdk.PointToolBefore, "writes", []string{"/args/a"}, []string{"/args/a"}),
				hook(sdk.PointEvent, "", nil, nil),
				hook(sdk.PointPermissionAsk, "", []string{""}, nil),
			},
			ToolList: []sdk.Tool{tool("asked"), tool("more")},
		}}
	}
	p.write("config/plugins/g", files{"p": "+x", "plugin.json": manifestOf("greedy", `{"runtime": {"type": "process", "command": ["./p"]},
		"hooks": [{"point": "tool.execute.before", "reads": ["/args/path"]}, {"point": "tool.execute.before", "name": "narrower", "reads": ["/args/a"], "writes": ["/args/a"]},
			{"point": "tool.execute.before", "name": "wider", "reads": ["/args/a"]}, {"point": "tool.execute.before", "name": "writes", "reads": ["/args/a"]}, {"point": "permission.ask"}],
		"tools": [{"id": "asked", "description": "d", "parameters": {"type": "object"}}], "protocols": ["asked"],
		"providers": [{"id": "asked", "protocol": "asked"}], "agents": [{"name": "asked", "mode": "all"}], "commands": [{"name": "asked", "template": "t"}]}`)})
	l := p.approve()
	if len(l.Plugins) != 1 {
		t.Fatal(states(l))
	}
	plugin := l.Plugins[0]
	if m := plugin.Manifest(); m.Name != "greedy" || m.Carrier != sdk.CarrierProcess {
		t.Errorf("manifest %+v, want the name and the carrier that were approved", m)
	}
	var hooks, tools []string
	for _, h := range plugin.(sdk.Hooker).Hooks() {
		hooks = append(hooks, string(h.Point)+" "+h.Name)
	}
	for range 2 { // asked at every step, reported once
		tools = nil
		for _, tool := range plugin.(sdk.ToolSource).Tools() {
			tools = append(tools, tool.Definition().ID)
		}
	}
	if got, want := strings.Join(hooks, ", "), "tool.execute.before , tool.execute.before narrower, permission.ask "; got != want {
		t.Errorf("hooks %q, want %q", got, want)
	}
	if len(tools) != 1 || tools[0] != "asked" {
		t.Errorf("tools %q", tools)
	}
	commands, err := plugin.(sdk.CommandSource).Commands(t.Context())
	if len(plugin.(sdk.ProviderSource).Providers()) != 1 || len(plugin.(sdk.ProtocolSource).Protocols()) != 1 || len(plugin.(sdk.AgentSource).Agents()) != 1 || len(commands) != 1 || err != nil {
		t.Error("it contributes what was not approved")
	}
	if _, ok := plugin.(sdk.SkillSource); ok {
		t.Error("it contributes skills, which are never approved")
	}
	if _, ok := plugin.(sdk.CommandRenderer); ok {
		t.Error("it renders commands, which the plugin does not")
	}
	if n := strings.Count(log.String(), "contribution refused"); n != 8 {
		t.Errorf("%d reports, want 8:\n%s", n, log.String())
	}
}

// TestPassesAbilitiesOn checks that a plugin which gets options from a path still reaches the abilities of its host.
func TestPassesAbilitiesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var given sdk.Host
	p.wasm.make = func(u plugins.Unit) sdk.Plugin {
		return &sdk.Bundle{Info: sdk.Manifest{Name: u.Name, Carrier: sdk.CarrierWASM}, OnStart: func(_ context.Context, h sdk.Host) error {
			given = h
			return nil
		}}
	}
	p.write("home/o", wasmPackage("o", ""))
	p.options.Entries = []plugins.Entry{{Path: "~/o", Options: json.RawMessage(`{"a": 1}`)}}
	plugin := p.approve().Plugins[0]
	for name, c := range map[string]struct {
		host  sdk.Host
		fails bool
	}{"able": {able{}, false}, "unable": {host{}, true}} {
		if err := plugin.Start(t.Context(), c.host); err != nil {
			t.Fatal(err)
		}
		_, call := given.(sdk.ToolCaller).CallTool(t.Context(), sdk.ToolRequest{})
		_, read := given.(sdk.SessionReader).SessionMessages(t.Context(), "")
		_, user := given.(sdk.UserQuestioner).AskUser(t.Context(), "", nil)
		_, sample := given.(sdk.Sampler).Sample(t.Context(), sdk.SampleRequest{})
		ask := given.(sdk.Asker).AskPermission(t.Context(), sdk.PermissionRequest{})
		for ability, err := range map[string]error{"tool": call, "session": read, "question": user, "sample": sample, "ask": ask} {
			if (err != nil) != c.fails {
				t.Errorf("%s: %s: %v", name, ability, err)
			}
		}
		if config := given.(sdk.ConfigReader).Config(); (config == nil) != c.fails {
			t.Errorf("%s: config %v", name, config)
		}
		if string(given.Options()) != `{"a": 1}` {
			t.Errorf("options %s", given.Options())
		}
		events := given.(sdk.EventSource).Events(t.Context(), 1)
		if c.fails {
			if _, open := <-events; open {
				t.Error("events of a host that has none")
			}
		}
	}
}
