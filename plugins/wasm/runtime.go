package wasm

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Runtime runs modules. A process needs only one. Modules are read, compiled and started at the first call of their plugins. Safe for
// concurrent use.
type Runtime struct {
	options Options
	cache   *cache
}

// New returns a runtime. It accesses no file.
func New(o Options) *Runtime {
	o.CompileTimeout = cmp.Or(o.CompileTimeout, 60*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 5*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Runtime{options: o, cache: &cache{dir: o.CacheDir, limit: 512 << 20, log: o.Logger}}
}

// Open returns the plugin of the unit, which is also an sdk.Hooker and an sdk.ToolSource. It checks that the module exists and does
// not read it. Errors wrap ErrModule or sdk.ErrManifest.
func (r *Runtime) Open(u remote.Unit) (sdk.Plugin, error) {
	p, err := newPlugin(r, &u)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// describeTimeout limits Describe, excluding compilation.
const describeTimeout = 10 * time.Second

// Describe compiles a module and runs it without grants to ask for its contributions. The compiled code stays in the cache, so
// opening the plugin afterwards is quick.
func (r *Runtime) Describe(ctx context.Context, u remote.Unit) (sdk.Description, error) {
	var d sdk.Description
	p, err := newPlugin(r, &remote.Unit{Description: sdk.Description{Runtime: u.Description.Runtime}, Program: u.Program, Checksum: u.Checksum})
	if err != nil {
		return d, err
	}
	defer p.Close(context.WithoutCancel(ctx))
	code, err := p.program.code(ctx)
	if err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	answer, err := p.describe(ctx, code)
	if err != nil {
		return d, fmt.Errorf("%s: describe: %w", u.Program, err)
	}
	if len(answer) == 0 {
		return d, fmt.Errorf("%s: the module has no description", u.Program)
	}
	return d, remote.Decode(u.Program+": description", answer, &d)
}

// describe asks a new, not started instance to describe itself.
func (p *plugin) describe(ctx context.Context, code *code) ([]byte, error) {
	i, err := p.instantiate(ctx, code, "")
	if err != nil {
		return nil, err
	}
	defer i.close()
	return i.answer(ctx, &job{op: guest.DescribeOp})
}
