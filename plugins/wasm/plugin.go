package wasm

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	maxModuleBytes = 64 << 20
	maxInput       = 64 << 20 // bytes of the input of one call
	maxOutput      = 8 << 20  // bytes of the output of one call
)

// plugin is a plugin that is a module. The module is compiled and instantiated at the first call.
type plugin struct {
	*remote.Base
	program *program
	pool    *pool
	system  *system
	lines   remote.LineLimit

	log     atomic.Pointer[slog.Logger]
	request atomic.Pointer[[]byte] // the start request; nil before Start

	active *ongoing.Operations // calls and other operations that Close waits for
}

var (
	_ sdk.Plugin         = (*plugin)(nil)
	_ sdk.Hooker         = (*plugin)(nil)
	_ sdk.ToolSource     = (*plugin)(nil)
	_ sdk.AuthSource     = (*plugin)(nil)
	_ remote.Precompiler = (*plugin)(nil)
	_ sdk.ProviderSource = (*plugin)(nil)
	_ sdk.ProtocolSource = (*plugin)(nil)
)

func newPlugin(r *Runtime, u *remote.Unit) (*plugin, error) {
	d := &u.Description
	p := &plugin{active: ongoing.New(guest.Detached())}
	p.Base = remote.NewBase(u, sdk.CarrierWASM, p)
	log := cmp.Or(u.Logger, r.options.Logger)
	p.log.Store(log)
	memoryMB, shared := sdk.DefaultWASMMemoryMB, false
	if rt := d.Runtime; rt != nil {
		memoryMB, shared = cmp.Or(rt.MemoryMB, memoryMB), rt.State == sdk.StatePlugin
	}
	if shared && len(d.Protocols) > 0 {
		return nil, fmt.Errorf("%w: plugin %q: runtime.state: %s would let an answer of a model block the other calls; want %s", sdk.ErrManifest, d.Name, sdk.StatePlugin, sdk.StateSession)
	}
	file, err := newModuleFile(u)
	if err != nil {
		return nil, err
	}
	p.system = newSystem(u)
	p.program = &program{runtime: r, file: file, pages: uint32(memoryMB) << 4, log: log}
	p.pool = newPool(shared, r.options.IdleTimeout, p.active)
	return p, nil
}

// Start stores the start request of instances. It runs no code.
func (p *plugin) Start(ctx context.Context, h sdk.Host) error {
	p.log.Store(h.Logger())
	if p.Broker != nil {
		p.Broker.Bind(h)
	}
	project := h.Project()
	p.system.project = project
	// A guest can access only granted files and need not know the user's directories.
	project.Home, project.ConfigDir, project.DataDir, project.CacheDir = "", "", "", ""
	data, err := p.StartRequest(h, project)
	if err != nil {
		return err
	}
	p.request.Store(&data)
	return nil
}

// Compiled implements remote.Precompiler.
func (p *plugin) Compiled() bool { return p.program.cached() }

// Precompile reads, checks and compiles the module.
func (p *plugin) Precompile(ctx context.Context) error {
	if !p.active.Begin() {
		return ErrClosed
	}
	defer p.active.End()
	_, err := p.program.code(ctx)
	return err
}

// closeGrace is the maximum time that Close waits for calls and compilations.
const closeGrace = 5 * time.Second

// Close cancels running calls and waits for them, at most until ctx ends.
func (p *plugin) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	p.active.Close()
	if p.Broker != nil {
		if err := p.Broker.Close(ctx); err != nil {
			p.log.Load().Warn("close the broker", "err", err)
		}
	}
	p.pool.stop()
	if err := p.active.Wait(ctx); err != nil {
		return fmt.Errorf("plugin %q: calls still run: %w", p.Description.Name, err)
	}
	p.pool.drain()
	p.system.close()
	return p.program.close(ctx)
}
