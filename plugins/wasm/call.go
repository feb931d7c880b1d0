package wasm

import (
	"context"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
)

// job is one call of an instance.
type job struct {
	op    uint32
	by    ability.Caller     // its session, which may be empty, is also the session of the instance
	event func([]byte) error // of a model request: takes its events
	input pieces
}

// pieces is the input of a call. The pieces are joined in the guest's memory, which saves a copy.
type pieces [5][]byte

// call is one run of a guest's code. It is the context of that code, in which imported functions find it. Only its goroutine uses it.
type call struct {
	context.Context // of the caller
	*job
	plugin   *plugin   // whose code runs
	deadline time.Time // of Context; zero: none
	output   []byte    // nil: not set
	response []byte    // of the last host_call
	fault    error     // ends the call, and with it the instance
	crash    string    // what the guest printed about its end, after a colon
}

type callKey struct{}

func newCall(ctx context.Context, p *plugin, j *job) *call {
	c := &call{Context: ctx, job: j, plugin: p}
	c.deadline, _ = ctx.Deadline()
	return c
}

// Value returns the call itself. It hides the values of the caller from wazero, which looks for its settings here.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return nil
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// check returns an error if the guest must stop. It reads the clock, because timers may be late when guests occupy all processors.
func (c *call) check() error {
	switch {
	case c.fault != nil:
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		c.fault = fmt.Errorf("stopped at its deadline: %w", context.DeadlineExceeded)
	case c.Err() != nil:
		c.fault = fmt.Errorf("stopped: %w", c.Err())
	case c.plugin.active.Life().Err() != nil:
		c.fault = fmt.Errorf("stopped: plugin %w", ErrClosed)
	}
	return c.fault
}

// misuse ends the call because the guest passed invalid arguments. The guest stops at its next check.
func (c *call) misuse(format string, args ...any) {
	if c.fault == nil {
		c.fault = fmt.Errorf("%w: %s", ErrTrap, fmt.Sprintf(format, args...))
	}
}

// nest lists the plugins that wait for a request to the host, to recognize calls that lead back to one of them.
type nest struct {
	plugin *plugin
	outer  *nest
}

type nestKey struct{}

// maxDepth is the maximum number of nested calls of plugins in WASM.
const maxDepth = 8

func nestOf(ctx context.Context) *nest {
	n, _ := ctx.Value(nestKey{}).(*nest)
	return n
}

// waits reports whether the plugin is one of the waiting plugins, and how many calls wait.
func (n *nest) waits(p *plugin) (waits bool, depth int) {
	for ; n != nil; n = n.outer {
		waits, depth = waits || n.plugin == p, depth+1
	}
	return waits, depth
}

// nested returns the context for a request of the guest.
func (c *call) nested() context.Context {
	return context.WithValue(c.Context, nestKey{}, &nest{c.plugin, nestOf(c.Context)})
}

// do runs a job in the right instance.
func (p *plugin) do(ctx context.Context, j *job) ([]byte, error) {
	if !p.active.Begin() {
		return nil, fmt.Errorf("plugin %q: %w", p.Description.Name, ErrClosed)
	}
	defer p.active.End()
	nested, depth := nestOf(ctx).waits(p)
	if depth >= maxDepth {
		return nil, fmt.Errorf("%w (%d)", ErrDepth, maxDepth)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	code, err := p.program.code(ctx)
	if err != nil {
		return nil, err
	}
	i, err := p.pool.get(ctx, j.by.SessionID, nested)
	if err != nil {
		return nil, err
	}
	if i == nil {
		if i, err = p.started(ctx, code, j.by.SessionID); err != nil {
			p.pool.release(nested)
			return nil, err
		}
	}
	output, err := i.answer(ctx, j)
	if i.broken {
		i.close()
		p.pool.release(nested)
	} else {
		p.pool.put(i, nested)
	}
	return output, err
}
