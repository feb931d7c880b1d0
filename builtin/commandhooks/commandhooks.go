// Package commandhooks turns shell commands into hooks, in Claude Code's dialect, which other hosts also read: an event starts a
// command, JSON on its standard input describes the event, and its exit code and standard output are the answer.
//
// Each source (a configuration file, a plugin folder) becomes its own plugin, so that a failing one is quarantined alone. The
// hook engine does the rest: order, deadlines, failures, ledger. docs/command-hooks.md describes the effect of each event.
package commandhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSource is wrapped by every error about the content of a source.
var ErrSource = errors.New("bad command hooks")

// Source is one configuration of command hooks. The caller ensures that the user approved it.
type Source struct {
	Name  string // the plugin's name, as in sdk.Manifest
	Where string // the file or another description of the origin, for messages
	// Data is a JSON object of events, or an object with such an object under "hooks".
	Data []byte
	// Root is the absolute path of the plugin's folder; empty for configuration. Commands receive it as PLUGIN_ROOT and
	// CLAUDE_PLUGIN_ROOT.
	Root string
	Env  map[string]string // additional variables for the commands
	// Confine returns the files a command may access; it is called at each run. If nil, commands run with all rights of the user.
	Confine func() (confine.Policy, error)
}

// Commands lists the commands of a source, one line each, to show them before the user approves it, and the parts that have no effect.
// Errors are as in New.
func Commands(s Source) (lines, warnings []string, err error) {
	f, err := parse(&s)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range f.entries {
		line := e.event
		if e.matcher.text != "" && (e.matcher.text != "*" || s.Root == "") { // as in the approvals of earlier versions
			line += " " + e.matcher.text
		}
		lines = append(lines, line+": "+strings.Join(append([]string{e.command}, e.args...), " "))
	}
	return lines, f.warnings, nil
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

	running *ongoing.Operations // commands; nil before Start

	slots chan struct{} // one element per running async command
}

var (
	_ sdk.Plugin = (*Plugin)(nil)
	_ sdk.Hooker = (*Plugin)(nil)
)

// New returns the plugin of a source. The error wraps ErrSource and names file, position and remedy of each problem.
func New(s Source) (*Plugin, error) {
	f, err := parse(&s)
	if err != nil {
		return nil, err
	}
	p := &Plugin{
		source: s, file: f, sessions: sessions{byID: map[string]*session{}}, calls: calls{byKey: map[callKey]call{}},
		log: slog.New(slog.DiscardHandler), slots: make(chan struct{}, maxAsync),
	}
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

// Start logs the parts of the source that have no effect. It starts no command.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	p.running = ongoing.New(ctx)
	p.log, p.project = h.Logger(), h.Project()
	extra := map[string]string{"CLAUDE_PROJECT_DIR": p.project.Worktree, "TENON_PROJECT_DIR": p.project.Worktree}
	maps.Copy(extra, p.source.Env)
	if p.source.Root != "" {
		extra["PLUGIN_ROOT"], extra["CLAUDE_PLUGIN_ROOT"] = p.source.Root, p.source.Root
	}
	p.environ = child.Environ(os.Environ(), extra)
	p.git = gitkeep.Of(p.project.Worktree)
	level := slog.LevelWarn
	if p.source.Root != "" {
		level = slog.LevelInfo // the user cannot correct a package's file
	}
	for _, warning := range p.file.warnings {
		p.log.Log(ctx, level, warning, "source", p.source.Where)
	}
	return nil
}

// Close ends all running commands and waits for them.
func (p *Plugin) Close(ctx context.Context) error {
	if p.running == nil {
		return nil
	}
	p.running.Close()
	return p.running.Wait(context.WithoutCancel(ctx)) // without a limit: they were ended
}

// Hooks returns a hook for each command, in their order, and the hooks that apply a command's answer at a later point.
func (p *Plugin) Hooks() []sdk.Hook {
	list := slices.Concat(p.sessionHooks(), p.promptHooks(), p.toolHooks(), p.compactionHooks(), p.stopHooks())
	for i := range list {
		// A command that fails is skipped, even at gates, unless the user configures another policy.
		list[i].OnError = sdk.OnErrorSkip
	}
	return list
}

// entries returns the commands at an event, in order.
func (p *Plugin) entries(event string) []*entry {
	return slices.DeleteFunc(slices.Clone(p.file.entries), func(e *entry) bool { return e.event != event })
}

// has reports whether there is a command at one of the events.
func (p *Plugin) has(events ...string) bool {
	return slices.ContainsFunc(p.file.entries, func(e *entry) bool { return slices.Contains(events, e.event) })
}

// call runs one command with the input and returns its answer. Errors name the command's position in its source.
func (p *Plugin) call(ctx context.Context, e *entry, session string, input map[string]any) (*reply, error) {
	input["session_id"] = session
	input["cwd"] = p.project.Directory
	input["hook_event_name"] = e.event
	input["permission_mode"] = "default"
	if e.async {
		return &reply{}, p.background(ctx, e, input)
	}
	return p.answer(ctx, e, input)
}

// answer runs one command and returns its answer.
func (p *Plugin) answer(ctx context.Context, e *entry, input any) (*reply, error) {
	var r *reply
	out, err := p.run(ctx, e, input)
	if err == nil {
		r, err = out.reply(e)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.source.Where, e.where, err)
	}
	if r.system != "" {
		p.log.Warn("message of a command hook: "+r.system, "source", p.source.Where, "hook", e.where)
	}
	return r, nil
}

// run starts the command, unless the plugin is closed.
func (p *Plugin) run(ctx context.Context, e *entry, input any) (*output, error) {
	if !p.running.Begin() {
		return nil, errors.New("not run: tenon is shutting down")
	}
	defer p.running.End()
	ctx, release := p.running.Bound(ctx)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	cmd := p.command(ctx, e)
	if p.source.Confine == nil {
		return run(ctx, cmd, input, nil)
	}
	p.git.Enter(ctx)
	out, err := run(ctx, cmd, input, p.source.Confine)
	for _, note := range p.git.Leave(context.WithoutCancel(ctx), true) {
		p.log.Warn("programs that git runs automatically were changed while a command hook ran", "source", p.source.Where, "hook", e.where, "change", note)
	}
	return out, err
}

// command returns the command of an entry.
func (p *Plugin) command(ctx context.Context, e *entry) *exec.Cmd {
	cmd := shell(ctx, e.command, p.project.Worktree)
	if e.args != nil {
		var variables []string
		for _, entry := range p.environ {
			name, value, _ := strings.Cut(entry, "=")
			variables = append(variables, "${"+name+"}", value)
		}
		expand := strings.NewReplacer(variables...).Replace
		cmd = exec.CommandContext(ctx, expand(e.command))
		for _, arg := range e.args {
			cmd.Args = append(cmd.Args, expand(arg))
		}
	}
	cmd.Dir, cmd.Env = p.project.Directory, p.environ
	return cmd
}

// hook sets the name and the deadline of a hook to those of the command.
func (e *entry) hook(h sdk.Hook) sdk.Hook {
	h.Name, h.Timeout = e.where, min(e.timeout, sdk.MaxHookTimeout)
	return h
}
