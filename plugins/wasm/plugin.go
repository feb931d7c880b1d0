package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	maxModuleBytes = 64 << 20
	maxInput       = 64 << 20 // bytes of the input of one call
	maxOutput      = 8 << 20  // bytes of the output of one call
)

// plugin is a module as the host sees it. What it needs to run is made when it is called for the first time.
type plugin struct {
	runtime  *Runtime
	unit     remote.Unit
	manifest sdk.Manifest
	hooks    []sdk.Hook
	tools    []sdk.Tool
	program  *program
	pool     *pool
	system   *system
	lines    logLimit

	log     atomic.Pointer[slog.Logger]
	request atomic.Pointer[[]byte] // the start request; nil before Start

	closing chan struct{} // closed by Close
	once    sync.Once
	active  tracker // calls, and what else must end before Close returns
}

var (
	_ sdk.Plugin     = (*plugin)(nil)
	_ sdk.Hooker     = (*plugin)(nil)
	_ sdk.ToolSource = (*plugin)(nil)
	_ Precompiler    = (*plugin)(nil)
)

func newPlugin(r *Runtime, u remote.Unit) (*plugin, error) {
	d := &u.Description
	p := &plugin{
		runtime: r, unit: u, closing: make(chan struct{}),
		manifest: sdk.Manifest{
			Name: d.Name, Version: d.Version, Description: d.Summary, Carrier: sdk.CarrierWASM,
			Capabilities: d.Capabilities, Options: d.Options,
		},
	}
	if err := p.manifest.Validate(); err != nil {
		return nil, err
	}
	log := u.Logger
	if log == nil {
		log = r.options.Logger.With("plugin", d.Name)
	}
	p.log.Store(log)
	memoryMB, shared, err := runtimeOf(d)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", d.Name, err)
	}
	file, err := newModuleFile(&u)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", d.Name, err)
	}
	if err := p.contributions(); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", d.Name, err)
	}
	p.system = newSystem(&p.unit)
	p.program = newProgram(r, file, memoryMB, log)
	p.pool = newPool(shared, r.options.IdleTimeout, &p.active)
	return p, nil
}

// runtimeOf returns the memory of an instance, in MiB, and whether all sessions share one.
func runtimeOf(d *sdk.Description) (memoryMB int, shared bool, err error) {
	memoryMB = sdk.DefaultWASMMemoryMB
	if d.Runtime == nil {
		return memoryMB, false, nil
	}
	if m := d.Runtime.MemoryMB; m < 0 || m > sdk.MaxWASMMemoryMB {
		return 0, false, fmt.Errorf("%w: runtime.memory: %d is not between 1 and %d MiB", sdk.ErrManifest, m, sdk.MaxWASMMemoryMB)
	} else if m > 0 {
		memoryMB = m
	}
	switch d.Runtime.State {
	case "", sdk.StateSession:
		return memoryMB, false, nil
	case sdk.StatePlugin:
		return memoryMB, true, nil
	}
	return 0, false, fmt.Errorf("%w: runtime.state: %q is neither %s nor %s", sdk.ErrManifest, d.Runtime.State, sdk.StateSession, sdk.StatePlugin)
}

// contributions makes the hooks and tools of the description.
func (p *plugin) contributions() error {
	d := &p.unit.Description
	if len(d.Providers)+len(d.Protocols)+len(d.Agents)+len(d.Commands) > 0 {
		return fmt.Errorf("%w: providers, protocols, agents and commands come from processes only", sdk.ErrManifest)
	}
	if len(d.Hooks) > maxContributions || len(d.Tools) > maxContributions {
		return fmt.Errorf("%w: more than %d hooks or tools", sdk.ErrManifest, maxContributions)
	}
	for i := range d.Hooks {
		remote := &hook{plugin: p, op: guest.HookOp + uint32(i)}
		h, err := d.Hooks[i].Hook(fmt.Sprintf("hooks[%d]", i), remote)
		if err != nil {
			return err
		}
		remote.point = h.Point
		p.hooks = append(p.hooks, h)
	}
	for i := range d.Tools {
		t, err := newTool(p, i)
		if err != nil {
			return err
		}
		p.tools = append(p.tools, t)
	}
	return nil
}

// maxContributions is how many numbers there are between guest.HookOp, guest.ToolOp and guest.PrepareOp.
const maxContributions = guest.ToolOp - guest.HookOp

// Manifest says who the plugin is.
func (p *plugin) Manifest() sdk.Manifest { return p.manifest }

// startWait is how long Start waits for a module that has to be compiled once more: most of the 5 s that host gives a plugin to start.
const startWait = 4 * time.Second

// Start remembers what instances are started with. It runs nothing. Of a module that was approved and whose compiled code was lost it
// waits for the compilation, so that the hooks do not spend their deadlines on that; what is not done after 4 s goes on beside it.
func (p *plugin) Start(ctx context.Context, h sdk.Host) error {
	p.log.Store(h.Logger())
	if p.unit.Broker != nil {
		p.unit.Broker.Bind(h)
	}
	p.system.setProject(h.Project())
	project := h.Project()
	// A guest reaches no file that was not granted; where the user keeps things is none of its business.
	project.Home, project.ConfigDir, project.DataDir, project.CacheDir = "", "", "", ""
	req := guest.StartRequest{Options: p.unit.OptionsOf(h), Project: project, Hooks: []guest.HookRef{}, Tools: []string{}}
	if len(req.Options) == 0 {
		req.Options = json.RawMessage("null")
	}
	for i := range p.hooks {
		req.Hooks = append(req.Hooks, guest.HookRef{Point: p.hooks[i].Point, Name: p.hooks[i].Name})
	}
	for i := range p.unit.Description.Tools {
		req.Tools = append(req.Tools, p.unit.Description.Tools[i].ID)
	}
	data, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("plugin %q: options: %w", p.manifest.Name, err)
	}
	p.request.Store(&data)
	if p.program.lost() {
		p.log.Load().Info("the module is compiled once more: its compiled code is not in the cache")
		ctx, cancel := context.WithTimeout(ctx, startWait)
		defer cancel()
		_ = p.Precompile(ctx) // what is wrong with the module is the error of the first call
	}
	return nil
}

// Hooks returns the hooks of the description.
func (p *plugin) Hooks() []sdk.Hook { return p.hooks }

// Tools returns the tools of the description.
func (p *plugin) Tools() []sdk.Tool { return p.tools }

// Precompile reads, checks and compiles the module.
func (p *plugin) Precompile(ctx context.Context) error {
	if !p.active.enter() {
		return ErrClosed
	}
	defer p.active.leave()
	_, err := p.program.code(ctx)
	return err
}

// Close ends what runs and waits for it, as long as ctx lets it, at most 5 s.
func (p *plugin) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	p.once.Do(func() {
		close(p.closing)
		p.active.close()
	})
	if p.unit.Broker != nil {
		if err := p.unit.Broker.Close(ctx); err != nil {
			p.log.Load().Warn("close the broker", "err", err)
		}
	}
	p.pool.stop()
	if err := p.active.wait(ctx); err != nil {
		return fmt.Errorf("plugin %q: calls still run: %w", p.manifest.Name, err)
	}
	p.pool.drain()
	p.system.close()
	p.runtime.forget(p)
	return p.program.close(ctx)
}
