package wasm

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
	"github.com/tenonhq/tenon/sdk/guest"
)

// hostModule is the module that guests import from; its number is the major version of the ABI.
const (
	hostPrefix = "tenon_v"
	hostModule = hostPrefix + "1"
)

// Limits of requests to the host, in bytes.
const (
	maxOperation = 64
	maxRequest   = 1 << 20
)

// imports returns the functions that the host offers, by name.
func imports() map[string]hostFunction {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	return map[string]hostFunction{
		"input":     {run: input, params: []api.ValueType{i32}},
		"output":    {run: output, params: []api.ValueType{i32, i32}},
		"log":       {run: logLine, params: []api.ValueType{i32, i32, i32}},
		"host_call": {run: hostCall, params: []api.ValueType{i32, i32, i32, i32}, results: []api.ValueType{i64}},
		"host_read": {run: hostRead, params: []api.ValueType{i32}},
	}
}

// hostFunction is a function that a guest can import.
type hostFunction struct {
	params, results []api.ValueType
	limits          []rewrite.Limit                             // of WASI
	run             func(c *call, m api.Memory, stack []uint64) // not of WASI; stack holds its arguments, and then its results
}

// provide adds the functions of the host to a wazero runtime.
func provide(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(hostModule)
	for name, f := range imports() {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			c := callOf(ctx)
			if c.check() != nil {
				clear(stack) // the guest is stopped at its next check
				return
			}
			f.run(c, m.Memory(), stack)
		}), f.params, f.results).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("%s: %w", hostModule, err)
	}
	check := api.GoFunc(func(ctx context.Context, stack []uint64) {
		// A guest cannot be preempted. It yields here, as often as goroutines would be preempted.
		runtime.Gosched()
		stack[0] = 0
		if callOf(ctx).check() != nil {
			stack[0] = 1
		}
	})
	_, err := r.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().
		WithGoFunction(check, nil, []api.ValueType{api.ValueTypeI32}).Export(rewrite.CheckName).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", rewrite.CheckModule, err)
	}
	return nil
}

// input copies the input of the call into the guest's memory.
func input(c *call, m api.Memory, stack []uint64) {
	at := uint64(uint32(stack[0]))
	for _, piece := range c.input {
		if at > uint64(m.Size()) || !m.Write(uint32(at), piece) {
			c.misuse("input(%d): it does not fit into the guest's memory of %d bytes", uint32(stack[0]), m.Size())
			return
		}
		at += uint64(len(piece))
	}
}

// output stores the output of the call.
func output(c *call, m api.Memory, stack []uint64) {
	size := uint32(stack[1])
	if int64(size) > int64(maxOutput) {
		c.fault = fmt.Errorf("%w: an output of %d bytes; the limit is %d", ErrAnswer, size, maxOutput)
		return
	}
	if view, ok := c.view(m, "output", stack[0], stack[1]); ok {
		c.output = append([]byte{}, view...)
	}
}

// logLine writes a line to the log.
func logLine(c *call, m api.Memory, stack []uint64) {
	if view, ok := c.view(m, "log", stack[1], stack[2]); ok {
		c.plugin.writeLog(c, int32(stack[0]), view)
	}
}

// hostCall performs an operation of the host.
func hostCall(c *call, m api.Memory, stack []uint64) {
	name, ok := c.view(m, "host_call: name", stack[0], stack[1])
	if !ok {
		return
	}
	request, ok := c.view(m, "host_call: request", stack[2], stack[3])
	if !ok {
		return
	}
	var status guest.Status
	switch broker := c.plugin.Broker; {
	case len(name) > maxOperation:
		status, c.response = guest.StatusUnknown, fmt.Appendf(nil, "an operation with a name of %d bytes", len(name))
	case len(request) > maxRequest:
		status, c.response = guest.StatusLimited, fmt.Appendf(nil, "%s: a request of %d bytes; the limit is %d", name, len(request), maxRequest)
	case string(name) == guest.EventOperation:
		status, c.response = c.streamEvent(request)
	case broker == nil:
		status, c.response = guest.StatusUnknown, []byte("this host has no operations")
	default:
		caller := c.by
		caller.Call = c.Context
		// The request is copied because its memory is freed with the instance.
		status, c.response = broker.Do(c.nested(), caller, string(name), append([]byte(nil), request...))
	}
	stack[0] = uint64(uint32(status))<<32 | uint64(uint32(len(c.response)))
}

// hostRead copies the response of the last host_call into the guest's memory.
func hostRead(c *call, m api.Memory, stack []uint64) {
	if !m.Write(uint32(stack[0]), c.response) {
		c.misuse("host_read(%d): the response of %d bytes does not fit into the guest's memory", uint32(stack[0]), len(c.response))
	}
}

// view returns bytes of the guest's memory, valid until the guest continues.
func (c *call) view(m api.Memory, what string, ptr, size uint64) ([]byte, bool) {
	view, ok := m.Read(uint32(ptr), uint32(size))
	if !ok {
		c.misuse("%s: %d bytes at %d are outside of the guest's memory of %d bytes", what, uint32(size), uint32(ptr), m.Size())
	}
	return view, ok
}

// maxWrite is the maximum number of bytes of one text that are processed.
const maxWrite = 64 << 10

// writeLog logs a line of the guest. It processes only the beginning of large texts, which may be all of the guest's memory.
func (p *plugin) writeLog(ctx context.Context, level int32, text []byte) {
	log := p.log.Load()
	l := remote.Level(level)
	if log.Enabled(ctx, l) && p.lines.Take(log.Warn) {
		log.Log(ctx, l, visible.Clean(string(text[:min(len(text), maxWrite)]), visible.MaxLine))
	}
}

// outputLog logs stdout or stderr of a guest, line by line. One goroutine at a time uses it.
type outputLog struct {
	guard *guard
	lines visible.Lines
}

func newOutputLog(p *plugin, g *guard) *outputLog {
	return &outputLog{g, visible.Lines{Take: func(line []byte) {
		if g.current.crash == "" && remote.NamesCrash(line) {
			g.current.crash = ": " + visible.Clean(string(line), visible.MaxLine)
		}
		p.writeLog(guest.Detached(), int32(slog.LevelDebug), line)
	}}}
}

// Write logs complete lines. It fails if the guest must stop, and processes only the beginning of large texts.
func (o *outputLog) Write(text []byte) (int, error) {
	if o.guard.expired() {
		return 0, o.guard.current.fault
	}
	o.lines.Write(text[:min(len(text), maxWrite)])
	return len(text), nil
}
