package extensions

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// carriers run plugins. The runtime of WASM is made when the first module is opened.
type carriers struct {
	opts *Options

	mu      sync.Mutex
	runtime *wasm.Runtime
}

func newCarriers(o *Options) *carriers { return &carriers{opts: o} }

func (c *carriers) byKind() map[sdk.Carrier]plugins.Carrier {
	return map[sdk.Carrier]plugins.Carrier{
		sdk.CarrierWASM:    wasmCarrier{c},
		sdk.CarrierProcess: processCarrier{process.New(process.Options{Environ: c.opts.Environ, Host: "tenon " + c.opts.Version}), c.opts},
	}
}

// wasm returns the runtime. Making it neither compiles nor reads anything.
func (c *carriers) wasm() (*wasm.Runtime, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runtime != nil {
		return c.runtime, nil
	}
	var err error
	c.runtime, err = wasm.New(wasm.Options{CacheDir: filepath.Join(c.opts.CacheDir, "wasm"), Logger: c.opts.Logger})
	return c.runtime, err
}

func (c *carriers) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runtime == nil {
		return nil
	}
	return c.runtime.Close(ctx)
}

// wasmCarrier opens modules.
type wasmCarrier struct{ c *carriers }

// Describe asks a module what it contributes.
func (w wasmCarrier) Describe(ctx context.Context, u plugins.Unit) (sdk.Description, error) {
	runtime, err := w.c.wasm()
	if err != nil {
		return sdk.Description{}, err
	}
	return runtime.Describe(ctx, wasm.Module{Path: u.Module, Digest: u.Checksum})
}

// Open makes a plugin of a module.
func (w wasmCarrier) Open(u plugins.Unit) (sdk.Plugin, error) {
	runtime, err := w.c.wasm()
	if err != nil {
		return nil, err
	}
	return runtime.Open(wasm.Spec{
		Description: u.Description, Module: wasm.Module{Path: u.Module, Digest: u.Checksum}, Broker: u.Broker,
		Grants: u.Grants, Environ: w.c.opts.Environ, DataDir: u.DataDir, Private: u.Private, Logger: u.Logger,
	})
}

// processCarrier opens programs.
type processCarrier struct {
	carrier *process.Carrier
	opts    *Options
}

// Describe starts a program and asks it what it contributes.
func (p processCarrier) Describe(ctx context.Context, u plugins.Unit) (sdk.Description, error) {
	return p.carrier.Describe(ctx, p.spec(&u))
}

// Open makes a plugin of a program.
func (p processCarrier) Open(u plugins.Unit) (sdk.Plugin, error) { return p.carrier.Open(p.spec(&u)) }

func (p processCarrier) spec(u *plugins.Unit) process.Spec {
	return process.Spec{
		Description: u.Description, Command: u.Command, Program: u.Program, Digest: u.Checksum, Dir: u.Root, DataDir: u.DataDir,
		Env: u.Env, Grants: u.Grants, Broker: u.Broker, Logger: u.Logger,
		Unconfined: p.opts.unconfined(u.Name) != nil,
	}
}
