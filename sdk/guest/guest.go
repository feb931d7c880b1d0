// Package guest is the plugin's side of all carriers: it describes the plugin, decodes calls, runs handlers and encodes their changes. sdk/wasm,
// sdk/lines and sdk/process implement the wires.
package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Numbers of operations. Hook n of the list given at start is HookOp+n, tool n ToolOp+n, the preparation of tool n PrepareOp+n.
const (
	DescribeOp = 0 // input empty, output an sdk.Description
	StartOp    = 1 // input a StartRequest, output empty
	HookOp     = 0x1000
	ToolOp     = 0x2000
	PrepareOp  = 0x3000
	AuthOp     = 0x4000 // since ABI 1.1, like the next two: input an AuthRequest, output an AuthAnswer
	StreamOp   = 0x5000 // input a StreamRequest, output empty or a StreamFailure; the events go to the host by EventOperation
	ModelsOp   = 0x5001 // input a StreamRequest without a request, output a ModelList
)

// StartRequest starts a plugin. It lists the hooks and tools that the host will call.
type StartRequest struct {
	Options json.RawMessage `json:"options"` // the user's options; null without any
	Project sdk.Project     `json:"project"`
	Hooks   []HookRef       `json:"hooks"`
	Tools   []string        `json:"tools"` // IDs
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

// PrepareResponse lists the permissions that a tool call requires.
type PrepareResponse struct {
	Requests []sdk.PermissionRequest `json:"requests"`
}

// Guest runs one plugin. It may be used concurrently.
type Guest struct {
	plugin  sdk.Plugin
	clients clients
	begun   atomic.Bool // Start was called
	closing sync.Once

	starting sync.Mutex // held by Start
	ready    bool       // Start succeeded

	mu    sync.RWMutex // guards hooks and tools
	hooks []hook
	tools []sdk.Tool
}

// hook is a hook of the plugin that the host calls.
type hook struct {
	point   hookpoint.Info
	handler sdk.Handler
}

// New returns a guest for the plugin, which is not started.
func New(p sdk.Plugin) *Guest { return &Guest{plugin: p} }

// Describe returns the plugin's contributions. It does not start the plugin, whose hooks and tools must be known before Start.
func (g *Guest) Describe() (sdk.Description, error) {
	m := g.plugin.Manifest()
	d := sdk.Description{
		Name: m.Name, Version: m.Version, Summary: m.Description, Capabilities: m.Capabilities, Options: m.Options,
	}
	if p, ok := g.plugin.(sdk.Hooker); ok {
		for _, h := range p.Hooks() {
			d.Hooks = append(d.Hooks, hookpoint.Describe(&h))
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
	if p, ok := g.plugin.(sdk.AuthSource); ok {
		for _, m := range p.AuthMethods() {
			d.Auth = append(d.Auth, sdk.AuthDescription{
				Provider: m.Provider, ID: m.ID, Name: m.Name, Refreshes: m.Refresh != nil, Headers: m.Headers != nil,
			})
		}
	}
	if p, ok := g.plugin.(sdk.AgentSource); ok {
		d.Agents = p.Agents()
	}
	if p, ok := g.plugin.(sdk.CommandSource); ok {
		var err error
		if d.Commands, err = p.Commands(Detached()); err != nil {
			return d, fmt.Errorf("commands: %w", err)
		}
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

// Start starts the plugin and finds the hooks and tools that the host will call. It fails if the plugin lacks one of them, or was started
// before.
func (g *Guest) Start(ctx context.Context, req *StartRequest, h sdk.Host) error {
	g.starting.Lock()
	defer g.starting.Unlock()
	if g.ready {
		return errors.New("the plugin was started before")
	}
	g.begun.Store(true)
	if err := g.plugin.Start(ctx, h); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.findHooks(req.Hooks); err != nil {
		return err
	}
	err := g.findTools(req.Tools)
	g.ready = err == nil
	return err
}

func (g *Guest) findHooks(refs []HookRef) error {
	var own []sdk.Hook
	if p, ok := g.plugin.(sdk.Hooker); ok {
		own = p.Hooks()
	}
	g.hooks = make([]hook, len(refs))
	for i, ref := range refs {
		at := slices.IndexFunc(own, func(h sdk.Hook) bool {
			return h.Point == ref.Point && (h.Name == ref.Name || h.Name == "" && ref.Name == string(ref.Point))
		})
		if at < 0 {
			return fmt.Errorf("hook %q at %s is in the manifest, but not in the plugin; tenon plugin sync-manifest updates plugin.json", ref.Name, ref.Point)
		}
		info, known := hookpoint.Of(string(ref.Point))
		if !known || own[at].Handler == nil {
			return fmt.Errorf("hook %q at %s has no handler, or its point is unknown to this sdk", ref.Name, ref.Point)
		}
		g.hooks[i] = hook{info, own[at].Handler}
	}
	return nil
}

func (g *Guest) findTools(ids []string) error {
	var own []sdk.Tool
	if p, ok := g.plugin.(sdk.ToolSource); ok {
		own = p.Tools()
	}
	g.tools = make([]sdk.Tool, len(ids))
	for i, id := range ids {
		at := slices.IndexFunc(own, func(t sdk.Tool) bool { return t.Definition().ID == id })
		if at < 0 {
			return fmt.Errorf("tool %q is in the manifest, but not in the plugin; tenon plugin sync-manifest updates plugin.json", id)
		}
		g.tools[i] = own[at]
	}
	return nil
}

// Close closes the plugin once, if Start was called. A concurrent call waits for the first.
func (g *Guest) Close(ctx context.Context) (err error) {
	if g.begun.Load() {
		g.closing.Do(func() { err = g.plugin.Close(ctx) })
	}
	return err
}

// closeTime is the maximum duration of CloseAlone.
const closeTime = 2 * time.Second

// CloseAlone closes the plugin after the host exited. It waits no longer than closeTime.
func (g *Guest) CloseAlone(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(Detached(), closeTime)
	defer cancel()
	closed := make(chan struct{})
	go func() { // ends when the plugin is closed, or with the process
		defer close(closed)
		_, _ = Guard(log, func() (struct{}, error) { return struct{}{}, g.Close(ctx) })
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// Hook runs hook n of the list in the StartRequest. data is the JSON of a HookRequest and is not kept. Hook does not recover panics of the
// handler: that is up to the wire.
func (g *Guest) Hook(ctx context.Context, n int, data []byte) (sdk.Answer, error) {
	hook, call, err := g.newCall(n)
	if err != nil {
		return sdk.Answer{}, err
	}
	if err := value.DecodeCall(data, call.Input, call.Value); err != nil {
		return sdk.Answer{}, fmt.Errorf("hook at %s: %w", call.Point, err)
	}
	return Handle(ctx, hook, call)
}

// AppendAnswer appends the JSON of an answer to out. It appends nothing if the hook neither changed nor decided anything.
func AppendAnswer(out []byte, a *sdk.Answer) ([]byte, error) {
	if a.Verdict == sdk.VerdictAbstain && a.Reason == "" && a.Message == "" && len(a.Changes) == 0 {
		return out, nil
	}
	return value.AppendJSON(out, a)
}

// newCall returns hook n and a call of it, whose input and value are to be decoded.
func (g *Guest) newCall(n int) (sdk.Handler, *sdk.HookCall, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if n < 0 || n >= len(g.hooks) {
		return nil, nil, fmt.Errorf("hook number %d not found", n)
	}
	h := &g.hooks[n]
	call := &sdk.HookCall{Point: h.point.Point, Input: h.point.NewInput()}
	if h.point.NewValue != nil {
		call.Value = h.point.NewValue()
	}
	return h.handler, call, nil
}

// Handle runs the handler and finds its changes, unless the handler returns them.
func Handle(ctx context.Context, h sdk.Handler, call *sdk.HookCall) (sdk.Answer, error) {
	if call.Value == nil {
		return h.Handle(ctx, call)
	}
	before := value.Clone(call.Value)
	answer, err := h.Handle(ctx, call)
	if err != nil || len(answer.Changes) > 0 {
		return answer, err
	}
	answer.Changes, err = value.Diff[sdk.Change](before, call.Value)
	return answer, err
}

// Prepare returns the permissions that a call of tool n requires.
func (g *Guest) Prepare(ctx context.Context, n int, call *sdk.ToolCall) (*PrepareResponse, error) {
	t, err := g.tool(n)
	if err != nil {
		return nil, err
	}
	p, ok := t.(sdk.ToolPreparer)
	if !ok {
		return nil, errors.New("the tool does not list the permissions that it requires")
	}
	requests, err := p.Prepare(ctx, call)
	return &PrepareResponse{requests}, err
}

// Tool runs tool n of the list in the StartRequest.
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
		return nil, fmt.Errorf("tool number %d not found", n)
	}
	return g.tools[n], nil
}
