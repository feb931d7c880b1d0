// Package commandhooks makes hooks of shell commands, in the dialect that Claude Code began and others read: an event starts a
// command, JSON on its standard input says what happened, and its exit code and standard output say what is to be done.
//
// Each source (a configuration file, a plugin folder) becomes a plugin of its own, so that one that fails is quarantined alone. The
// hook engine does the rest: order, deadlines, failures, ledger. docs/command-hooks.md tells users what each event does here.
package commandhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSource is wrapped by every error about the content of a source.
var ErrSource = errors.New("bad command hooks")

// Source is one place that configures command hooks. The caller vouches that the user approved it.
type Source struct {
	Name  string // of the plugin it becomes, as in sdk.Manifest
	Where string // the file, or another description of the place, for messages
	// Data is a JSON object of events, or an object that holds one under "hooks".
	Data []byte
	// Root is the folder of the plugin it came with, absolute; empty for configuration. Commands get it as PLUGIN_ROOT and
	// CLAUDE_PLUGIN_ROOT.
	Root string
	Env  map[string]string // more variables for the commands
	// Confine returns what a command reaches, at each run. Nil: it runs with all the rights of the user.
	Confine func() (confine.Policy, error)
}

// New returns a plugin for each source, in order. A source that is bad has none and is part of the error, which wraps ErrSource and
// names file, place and remedy; the others work.
func New(sources ...Source) ([]sdk.Plugin, error) {
	var plugins []sdk.Plugin
	var problems []error
	for _, s := range sources {
		p, err := newPlugin(s)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		plugins = append(plugins, p)
	}
	return plugins, errors.Join(problems...)
}

// Commands lists what a source would run, one line for each command, to be shown before the user approves it. Errors are as in New.
func Commands(s Source) ([]string, error) {
	f, err := parse(s.Where, s.Data)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range f.entries {
		line := e.event
		if e.matcher.text != "" {
			line += " " + e.matcher.text
		}
		lines = append(lines, line+": "+e.command)
	}
	return lines, nil
}

// Plugin runs the command hooks of one source.
type Plugin struct {
	source   Source
	file     *file
	sessions sessions
	calls    calls

	log     *slog.Logger
	project sdk.Project
	environ []string
	git     *gitkeep.Keeper

	mu      sync.Mutex
	closed  bool
	running map[*command]context.CancelFunc
	idle    sync.WaitGroup // counts running
}

var (
	_ sdk.Plugin = (*Plugin)(nil)
	_ sdk.Hooker = (*Plugin)(nil)
)

func newPlugin(s Source) (*Plugin, error) {
	f, err := parse(s.Where, s.Data)
	if err != nil {
		return nil, err
	}
	p := &Plugin{source: s, file: f, log: slog.New(slog.DiscardHandler), running: map[*command]context.CancelFunc{}}
	m := p.Manifest()
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, s.Where, err)
	}
	return p, nil
}

// Manifest names the plugin.
func (p *Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: p.source.Name, Description: "command hooks of " + p.source.Where, Carrier: sdk.CarrierCommand}
}

// Start tells what of the source has no effect. It starts no command.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log, p.project = h.Logger(), h.Project()
	extra := map[string]string{"CLAUDE_PROJECT_DIR": p.project.Worktree, "TENON_PROJECT_DIR": p.project.Worktree}
	for name, value := range p.source.Env {
		extra[name] = value
	}
	if p.source.Root != "" {
		extra["PLUGIN_ROOT"], extra["CLAUDE_PLUGIN_ROOT"] = p.source.Root, p.source.Root
	}
	p.environ = child.Environ(os.Environ(), extra)
	p.git = gitkeep.New(p.project.Worktree, os.Environ())
	for _, warning := range p.file.warnings {
		p.log.Warn(warning, "source", p.source.Where)
	}
	return nil
}

// Close ends the commands that run and waits for them.
func (p *Plugin) Close(context.Context) error {
	p.mu.Lock()
	p.closed = true
	for _, cancel := range p.running {
		cancel()
	}
	p.mu.Unlock()
	p.idle.Wait()
	return nil
}

// Hooks returns a hook for each command, in the order they are written, and those that carry what a command said to where it takes
// effect.
func (p *Plugin) Hooks() []sdk.Hook {
	list := slices.Concat(p.sessionHooks(), p.promptHooks(), p.toolHooks(), p.compactionHooks(), p.stopHooks())
	for i := range list {
		// A command that fails is no decision: it is skipped, at gates too, unless the user configures another policy.
		list[i].OnError = sdk.OnErrorSkip
	}
	return list
}

// entries returns the commands at an event, in order.
func (p *Plugin) entries(event string) []*entry {
	var found []*entry
	for _, e := range p.file.entries {
		if e.event == event {
			found = append(found, e)
		}
	}
	return found
}

// has reports whether there is a command at one of the events.
func (p *Plugin) has(events ...string) bool {
	return slices.ContainsFunc(p.file.entries, func(e *entry) bool { return slices.Contains(events, e.event) })
}

// call runs one command with the input and reads what it answers. Errors name the place the command was written at.
func (p *Plugin) call(ctx context.Context, e *entry, session string, input map[string]any) (*reply, error) {
	input["session_id"] = session
	input["cwd"] = p.project.Directory
	input["hook_event_name"] = e.event
	input["permission_mode"] = "default"
	r, err := p.ask(ctx, e, input)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.source.Where, e.where, err)
	}
	return r, nil
}

func (p *Plugin) ask(ctx context.Context, e *entry, input map[string]any) (*reply, error) {
	out, err := p.run(ctx, e, input)
	if err != nil {
		return nil, err
	}
	r, err := out.reply(e)
	if err != nil {
		return nil, err
	}
	p.tell(e, r)
	return r, nil
}

// run starts the command, unless the plugin is closed.
func (p *Plugin) run(ctx context.Context, e *entry, input map[string]any) (*output, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	c := &command{text: e.command, dir: p.project.Directory, env: p.environ, input: input, confine: p.source.Confine}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("not run: tenon is ending")
	}
	p.running[c] = cancel
	p.idle.Add(1)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.running, c)
		p.mu.Unlock()
		p.idle.Done()
	}()
	if c.confine == nil {
		return c.run(ctx)
	}
	p.git.Enter(ctx)
	out, err := c.run(ctx)
	for _, note := range p.git.Leave(context.WithoutCancel(ctx), true) {
		p.log.Warn("a command hook changed what git runs by itself", "source", p.source.Where, "hook", e.where, "change", note)
	}
	return out, err
}

// tell passes on what is for the user, and names what an answer holds that has no effect at the event.
func (p *Plugin) tell(e *entry, r *reply) {
	if r.system != "" {
		p.log.Warn("a command hook says: "+r.system, "source", p.source.Where, "hook", e.where)
	}
	for _, field := range r.unused(e.event) {
		p.log.Warn(field+" has no effect at "+e.event, "source", p.source.Where, "hook", e.where)
	}
}

// hook gives a hook of the engine the name and the deadline of a command.
func (e *entry) hook(h sdk.Hook) sdk.Hook {
	h.Name, h.Timeout = e.where, e.timeout
	return h
}
