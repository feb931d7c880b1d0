package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Results of tenon_call.
const (
	resultOK        = 0
	resultError     = 1
	resultUnchanged = 2
)

// abiMajor is the supported major version of the ABI. Any minor version works, because unknown operations are reported by name.
const abiMajor = 1

// maxText is the maximum size of a guest's error text, in bytes.
const maxText = 8 << 10

// instance is one copy of a plugin's module with its own memory. Used by one goroutine at a time.
type instance struct {
	plugin  *plugin
	module  api.Module
	entry   api.Function // tenon_call
	memory  *guestMemory // nil if Go manages the memory
	shared  *image
	guard   guard
	session string
	since   time.Time   // time when it became idle
	timer   *time.Timer // see pool.due; nil until it was idle
	trimmed bool
	broken  bool // to be discarded
	stack   [2]uint64
}

// started creates an instance for a session and sends it the start request.
func (p *plugin) started(ctx context.Context, code *code, session string) (*instance, error) {
	request := p.request.Load()
	if request == nil {
		return nil, fmt.Errorf("plugin %q was not started", p.Description.Name)
	}
	i, err := p.instantiate(ctx, code, session)
	if err != nil {
		return nil, err
	}
	// Requests of a starting guest belong to no session.
	if _, err := i.answer(ctx, &job{op: guest.StartOp, input: pieces{*request}}); err != nil {
		i.close()
		return nil, fmt.Errorf("start: %w", err)
	}
	return i, nil
}

// instantiate creates an instance for a session, which initializes itself.
func (p *plugin) instantiate(ctx context.Context, code *code, session string) (i *instance, err error) {
	c := newCall(ctx, p, &job{})
	i = &instance{plugin: p, session: session, shared: code.shared, guard: guard{current: c}}
	config, err := p.system.config(p, &i.guard)
	if err != nil {
		return nil, err
	}
	defer func() {
		// wazero panics if it cannot allocate the initial memory of a module.
		if r := recover(); r != nil {
			i, err = nil, fmt.Errorf("%w: instantiate: %v", ErrTrap, r)
		}
	}()
	inMemory, memory := withMemory(c)
	i.memory = memory
	if i.module, err = code.runtime.InstantiateModule(inMemory, code.compiled, config); err != nil {
		return nil, fmt.Errorf("initialise: %w", c.failure(err))
	}
	i.entry = i.module.ExportedFunction(exportCall)
	if err := i.checkABI(c); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// checkABI checks the version of the ABI that the guest implements.
func (i *instance) checkABI(c *call) error {
	result, err := i.module.ExportedFunction(exportABI).Call(c)
	if err := c.failure(err); err != nil {
		hint := ""
		if i.module.ExportedFunction(exportStart) != nil { // Go exports all functions from a command, too
			hint = commandHint
		}
		return fmt.Errorf("%s: %w%s", exportABI, err, hint)
	}
	if version := uint32(result[0]); version>>16 != abiMajor {
		return fmt.Errorf("%w: it speaks version %d.%d of the ABI, this host %d", ErrModule, version>>16, version&0xffff, abiMajor)
	}
	return nil
}

// answer runs one call of the guest. The output belongs to the caller.
func (i *instance) answer(ctx context.Context, j *job) ([]byte, error) {
	c := newCall(ctx, i.plugin, j)
	size := 0
	for _, piece := range c.input {
		size += len(piece)
	}
	if size > maxInput {
		return nil, fmt.Errorf("an input of %d bytes, at most %d are sent", size, maxInput)
	}
	i.guard.current = c
	i.stack = [2]uint64{uint64(j.op), uint64(size)}
	err := i.entry.CallWithStack(c, i.stack[:])
	if err := c.failure(err); err != nil {
		i.broken = true
		return nil, err
	}
	switch result := int32(i.stack[0]); result {
	case resultOK:
		return c.output, nil
	case resultUnchanged:
		return nil, nil
	case resultError:
		return nil, errors.New(clean(c.output))
	default:
		return nil, fmt.Errorf("%w: %s returned %d; want %d, %d or %d", ErrAnswer, exportCall, result, resultOK, resultError, resultUnchanged)
	}
}

// failure returns the reason why the guest stopped, for wazero's error; nil if it answered.
func (c *call) failure(err error) error {
	if c.fault != nil || err == nil {
		return c.fault
	}
	return c.trap(err)
}

// clean returns the text of an error as valid UTF-8 of limited size.
func clean(text []byte) string {
	if len(text) == 0 {
		return "the plugin reported an error without a text"
	}
	return visible.Cut(strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"), maxText, "")
}

// trap returns the error for wazero's error about the end of a guest. It logs the stack.
func (c *call) trap(err error) error {
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		return fmt.Errorf("%w: it ended itself with exit code %d%s", ErrTrap, exit.ExitCode(), c.crash)
	}
	text, stack, _ := strings.Cut(err.Error(), "\n")
	stack = strings.TrimSpace(strings.TrimPrefix(stack, "wasm stack trace:"))
	c.plugin.log.Load().Debug("trap", "err", text, "stack", stack)
	top, _, _ := strings.Cut(stack, "\n")
	if top = strings.TrimSpace(top); top != "" {
		text += " in " + top
	}
	return fmt.Errorf("%w: %s%s", ErrTrap, strings.TrimPrefix(text, "wasm error: "), c.crash)
}

// close ends the instance and releases its resources.
func (i *instance) close() {
	if i.timer != nil {
		i.timer.Stop()
	}
	if err := i.module.Close(guest.Detached()); err != nil {
		i.plugin.log.Load().Debug("close an instance", "err", err)
	}
}
