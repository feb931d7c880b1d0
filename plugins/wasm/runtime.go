package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Runtime runs modules. One per process will do. Nothing is read, compiled or started before a plugin is called for the first
// time. Safe for use from many goroutines.
type Runtime struct {
	options Options
	cache   *cache // nil without Options.CacheDir
	codes   codes

	mu      sync.Mutex
	closed  bool
	plugins map[*plugin]struct{} // those that are open
}

// New returns a runtime. It touches no file.
func New(o Options) (*Runtime, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Runtime{options: o, plugins: map[*plugin]struct{}{}, codes: codes{inUse: map[codeKey]*usedCode{}}}
	if o.CacheDir != "" {
		r.cache = newCache(o.CacheDir, int64(o.CacheMB)<<20, o.Logger)
	}
	return r, nil
}

// Open returns the plugin of the unit, which is also an sdk.Hooker and an sdk.ToolSource. It checks that the module exists and does
// not read it. Errors wrap ErrModule or sdk.ErrManifest.
func (r *Runtime) Open(u remote.Unit) (sdk.Plugin, error) {
	p, err := newPlugin(r, &u)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("open plugin %q: wasm runtime: %w", u.Description.Name, ErrClosed)
	}
	r.plugins[p] = struct{}{}
	return p, nil
}

const (
	// describeTimeout bounds Describe without the time to compile.
	describeTimeout = 10 * time.Second
	// closeGrace bounds how long Close waits for calls and compilations, whatever its context allows.
	closeGrace = 5 * time.Second
)

// Describe compiles a module and runs it without grants to ask for its contributions. The compiled code stays in the cache, so
// opening the plugin afterwards is quick.
func (r *Runtime) Describe(ctx context.Context, u remote.Unit) (sdk.Description, error) {
	var d sdk.Description
	opened, err := r.Open(remote.Unit{Description: sdk.Description{Name: "unnamed"}, Program: u.Program, Checksum: u.Checksum})
	if err != nil {
		return d, err
	}
	p := opened.(*plugin)
	defer p.Close(context.WithoutCancel(ctx))
	if err := p.Precompile(ctx); err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	answer, err := p.describe(ctx)
	if err != nil {
		return d, fmt.Errorf("%s: describe: %w", u.Program, err)
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		return d, badAnswer(u.Program+": describe", answer, err)
	}
	return d, nil
}

// Close closes the open plugins and waits for their calls, as long as ctx allows, at most 5 s. The error names calls that still run then;
// they end with the process. Safe to call twice.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	r.mu.Lock()
	r.closed = true
	open := make([]*plugin, 0, len(r.plugins))
	for p := range r.plugins {
		open = append(open, p)
	}
	r.mu.Unlock()
	var errs []error
	for _, p := range open {
		errs = append(errs, p.Close(ctx))
	}
	return errors.Join(errs...)
}

func (r *Runtime) forget(p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.plugins, p)
}

// describe asks the guest to describe itself, in a new instance that was not started.
func (p *plugin) describe(ctx context.Context) ([]byte, error) {
	return p.do(ctx, job{op: guest.DescribeOp, unstarted: true})
}
