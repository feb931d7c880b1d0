// Package guest is what a plugin outside of the host's process runs on its side of the wire, whatever the wire is: it describes
// the plugin, decodes calls, runs the handlers and encodes what they changed. sdk/wasm and sdk/process are the wires.
package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Numbers of operations. Hook n of the list given at start is HookOp+n, tool n ToolOp+n, the preparation of tool n PrepareOp+n.
const (
	DescribeOp = 0 // input empty, output an sdk.Description
	StartOp    = 1 // input a StartRequest, output empty
	HookOp     = 0x1000
	ToolOp     = 0x2000
	PrepareOp  = 0x3000
)

// StartRequest begins a plugin: what the user set and which operations the host will use.
type StartRequest struct {
	Options json.RawMessage `json:"options"` // null without
	Project sdk.Project     `json:"project"`
	Hooks   []HookRef       `json:"hooks"`
	Tools   []string        `json:"tools"` // ids
}

// HookRef names a hook of the plugin.
type HookRef struct {
	Point sdk.Point `json:"point"`
	Name  string    `json:"name"`
}

// HookRequest is the input of a hook.
type HookRequest struct {
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"` // the fields the hook reads
}

// PrepareResponse is what a tool call needs leave for.
type PrepareResponse struct {
	Requests []sdk.PermissionRequest `json:"requests"`
}

// Guest runs one plugin. Safe for use from many goroutines after Start.
type Guest struct {
	plugin sdk.Plugin

	mu    sync.RWMutex // guards what Start sets
	hooks []sdk.Hook
	tools []sdk.Tool
}

// New returns a guest that runs the plugin, which it starts itself.
func New(p sdk.Plugin) *Guest { return &Guest{plugin: p} }

// Describe says what the plugin contributes. It starts nothing: the plugin's hooks and tools must be known without Start.
func (g *Guest) Describe() (sdk.Description, error) {
	m := g.plugin.Manifest()
	d := sdk.Description{
		Name: m.Name, Version: m.Version, Summary: m.Description, Capabilities: m.Capabilities, Options: m.Options,
	}
	if p, ok := g.plugin.(sdk.Hooker); ok {
		for _, h := range p.Hooks() {
			d.Hooks = append(d.Hooks, h.Describe())
		}
	}
	if p, ok := g.plugin.(sdk.ToolSource); ok {
		for _, t := range p.Tools() {
			d.Tools = append(d.Tools, describeTool(t))
		}
	}
	if p, ok := g.plugin.(sdk.ProviderSource); ok {
		d.Providers = p.Providers()
	}
	if p, ok := g.plugin.(sdk.ProtocolSource); ok {
		for _, protocol := range p.Protocols() {
			d.Protocols = append(d.Protocols, protocol.Name)
		}
	}
	if p, ok := g.plugin.(sdk.AgentSource); ok {
		d.Agents = p.Agents()
	}
	return d, nil
}

func describeTool(t sdk.Tool) sdk.ToolDescription {
	d := sdk.ToolDescription{ToolDefinition: t.Definition()}
	if p, ok := t.(sdk.ToolPermission); ok {
		d.Permission = p.Permission()
	}
	_, d.Prepares = t.(sdk.ToolPreparer)
	if p, ok := t.(sdk.ToolDeadline); ok {
		d.TimeoutMS = p.Deadline().Milliseconds()
	}
	return d
}

// Start starts the plugin and finds the hooks and tools the host will call. One that the manifest names and the plugin has not is
// an error.
func (g *Guest) Start(ctx context.Context, req *StartRequest, h sdk.Host) error {
	if err := g.plugin.Start(ctx, h); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var own []sdk.Hook
	if p, ok := g.plugin.(sdk.Hooker); ok {
		own = p.Hooks()
	}
	g.hooks, g.tools = make([]sdk.Hook, len(req.Hooks)), make([]sdk.Tool, len(req.Tools))
	for i, ref := range req.Hooks {
		found := false
		for _, hook := range own {
			if hook.Point == ref.Point && (hook.Name == ref.Name || hook.Name == "" && ref.Name == string(ref.Point)) {
				g.hooks[i], found = hook, true
				break
			}
		}
		if !found {
			return fmt.Errorf("the manifest names the hook %q at %s, which the plugin has not", ref.Name, ref.Point)
		}
	}
	var tools []sdk.Tool
	if p, ok := g.plugin.(sdk.ToolSource); ok {
		tools = p.Tools()
	}
	for i, id := range req.Tools {
		for _, t := range tools {
			if t.Definition().ID == id {
				g.tools[i] = t
				break
			}
		}
		if g.tools[i] == nil {
			return fmt.Errorf("the manifest names the tool %q, which the plugin has not", id)
		}
	}
	return nil
}

// Plugin returns the plugin.
func (g *Guest) Plugin() sdk.Plugin { return g.plugin }

// Hook runs hook n of the list given at start. A panic of the handler is not recovered: the wire decides what it means.
func (g *Guest) Hook(ctx context.Context, n int, req *HookRequest) (sdk.Answer, error) {
	g.mu.RLock()
	if n < 0 || n >= len(g.hooks) {
		g.mu.RUnlock()
		return sdk.Answer{}, fmt.Errorf("there is no hook number %d", n)
	}
	hook := g.hooks[n]
	g.mu.RUnlock()
	info, _ := sdk.PointOf(string(hook.Point))
	call := &sdk.HookCall{Point: hook.Point, Input: info.NewInput()}
	if err := json.Unmarshal(req.Input, call.Input); err != nil {
		return sdk.Answer{}, fmt.Errorf("input of %s: %w", hook.Point, err)
	}
	if info.NewValue == nil {
		return hook.Handler.Handle(ctx, call)
	}
	call.Value = info.NewValue()
	if err := json.Unmarshal(req.Value, call.Value); err != nil {
		return sdk.Answer{}, fmt.Errorf("value of %s: %w", hook.Point, err)
	}
	before := sdk.Clone(call.Value)
	answer, err := hook.Handler.Handle(ctx, call)
	if err != nil {
		return sdk.Answer{}, err
	}
	answer.Changes, err = sdk.Diff(before, call.Value)
	return answer, err
}

// Prepare asks tool n what a call needs leave for.
func (g *Guest) Prepare(ctx context.Context, n int, call *sdk.ToolCall) (*PrepareResponse, error) {
	t, err := g.tool(n)
	if err != nil {
		return nil, err
	}
	p, ok := t.(sdk.ToolPreparer)
	if !ok {
		return nil, errors.New("the tool does not say what it needs leave for")
	}
	requests, err := p.Prepare(ctx, call)
	return &PrepareResponse{requests}, err
}

// Tool runs tool n of the list given at start.
func (g *Guest) Tool(ctx context.Context, n int, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	t, err := g.tool(n)
	if err != nil {
		return nil, err
	}
	result, err := t.Execute(ctx, call)
	if err == nil && result == nil {
		return nil, errors.New("the tool returned nothing")
	}
	return result, err
}

func (g *Guest) tool(n int) (sdk.Tool, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if n < 0 || n >= len(g.tools) {
		return nil, fmt.Errorf("there is no tool number %d", n)
	}
	return g.tools[n], nil
}
