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
	"slices"
	"strings"
	"sync"
	"time"

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
	Root string            // the absolute path of the plugin's folder; empty for configuration
	Env  map[string]string // additional variables for the commands
	// Confine returns the files a command may access; it is called at each run. If nil, commands run with all rights of the user.
	Confine func() (confine.Policy, error)
}

// Question begins the line of a question to the user's model in Commands. The others begin with an event.
const Question = "question to your model about "

// Commands lists the commands of a source, one line each, to show them before the user approves it, and the parts that have no effect.
// Errors are as in New.
func Commands(s Source) (lines, warnings []string, err error) {
	f, err := parse(&s)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range f.entries {
		line := e.event
		if e.matcher.text != "" && (e.matcher.text != "*" || s.Root == "") { // the same text as in the approvals of earlier versions
			line += " " + e.matcher.text
		}
		if e.asks && e.judgesTurn() {
			line = Question + line + ", with the conversation and its input"
		} else if e.asks {
			line = Question + line + ", with its input"
		}
		lines = append(lines, line+": "+strings.Join(append([]string{e.command}, e.args...), " "))
	}
	return lines, f.warnings, nil
}

// Plugin runs the command hooks of one source.
type Plugin struct {
	source   Source
	file     *file
	sessions sync.Map // *session by ID
	calls    calls

	host    sdk.Host // nil before Start
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
		source: s, file: f, calls: calls{byKey: map[callKey]call{}},
		log: slog.New(slog.DiscardHandler), slots: make(chan struct{}, maxAsync),
	}
	for _, e := range f.entries {
		e.plugin = p
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
	p.host, p.log, p.project = h, h.Logger(), h.Project()
	extra := map[string]string{"CLAUDE_PROJECT_DIR": p.project.Worktree, "TENON_PROJECT_DIR": p.project.Worktree}
	maps.Copy(extra, p.source.Env)
	p.environ = child.NetworkEnviron(os.Environ(), extra)
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
	return p.running.Wait(context.WithoutCancel(ctx)) // without a limit, because the commands were ended
}

// Hooks returns a hook for each command, in order, and the hooks that serve several commands.
func (p *Plugin) Hooks() []sdk.Hook {
	var list []sdk.Hook
	add := func(h sdk.Hook, name string, timeout time.Duration) {
		h.Name, h.Timeout = name, min(timeout, sdk.MaxHookTimeout)
		h.OnError = sdk.OnErrorSkip // even at gates, unless the user configures another policy
		list = append(list, h)
	}
	starts := p.has(sessionStart, subagentStart)
	if starts || p.has(userPromptSubmit, stop, subagentStop) {
		// A separate hook, so that one session's start does not wait for the commands of another.
		add(sdk.OnSessionStart(p.announce), "sessions", 0)
	}
	if starts {
		wait := max(p.total(sessionStart), p.total(subagentStart))
		add(sdk.OnSessionStart(p.start), sessionStart, wait)
		// The commands have their own deadlines; the prompt waits slightly longer.
		add(sdk.OnChatMessage(p.addStart).Reading("/parts").Writing("/parts"), sessionStart, wait+time.Second)
	}
	if p.has(sessionEnd) {
		add(sdk.OnSessionEnd(p.end), sessionEnd, p.total(sessionEnd))
	}
	if p.has(postCompact) {
		add(sdk.OnEvent(p.compacted), postCompact, p.total(postCompact))
	}
	if p.has(preToolUse) {
		add(sdk.OnPermissionAsk(p.decided), preToolUse, 0)
	}
	if slices.ContainsFunc(p.file.entries, func(e *entry) bool { return e.asks }) {
		add(sdk.OnPermissionAsk(p.mayAsk), "model", 0)
	}
	for _, e := range p.file.entries {
		if h, ok := e.hook(); ok {
			add(h, e.where, e.timeout)
		}
	}
	if p.has(sessionStart) { // after PreCompact, whose commands may write what these print
		add(sdk.OnCompacting(p.again).Reading().Writing(), sessionStart, p.total(sessionStart))
		add(sdk.OnChatSystem(p.remind).Reading("/system").Writing("/system"), sessionStart, 0)
	}
	if p.has(preToolUse) {
		add(sdk.OnToolAfter(p.addTexts).Reading("/output").Writing("/output"), preToolUse, 0)
	}
	return list
}

// hook returns the hook of a command, unless one hook runs all commands at its event.
func (e *entry) hook() (h sdk.Hook, ok bool) {
	switch e.event {
	case userPromptSubmit:
		return sdk.OnChatMessage(e.prompt).Reading("/parts").Writing("/parts"), true
	case preToolUse:
		return sdk.OnToolBefore(e.before).Reading("/args").Writing("/args"), true
	case permissionRequest:
		return sdk.OnPermissionAsk(e.permission), true
	case postToolUse, postToolUseFailure:
		return sdk.OnToolAfter(e.after).Reading("/title", "/output", "/metadata").Writing("/output", "/attachments"), true
	case preCompact:
		return sdk.OnCompacting(e.compacting).Reading("/context").Writing("/context"), true
	case stop, subagentStop:
		return sdk.OnTurnStop(e.stop), true
	}
	return sdk.Hook{}, false
}

// entries returns the commands at an event, in order.
func (p *Plugin) entries(event string) []*entry {
	return slices.DeleteFunc(slices.Clone(p.file.entries), func(e *entry) bool { return e.event != event })
}

// has reports whether there is a command at one of the events.
func (p *Plugin) has(events ...string) bool {
	return slices.ContainsFunc(p.file.entries, func(e *entry) bool { return slices.Contains(events, e.event) })
}

// total adds the timeouts of the commands at an event.
func (p *Plugin) total(event string) time.Duration {
	var sum time.Duration
	for _, e := range p.entries(event) {
		sum += e.timeout
	}
	return sum
}

// callAll runs the commands at an event that match the name, one after the other, and returns their texts for the model. All of them
// run, even if one fails.
func (p *Plugin) callAll(ctx context.Context, event, name, session string, input map[string]any) ([]string, error) {
	var texts []string
	var problems []error
	for _, e := range p.entries(event) {
		if !e.matcher.any(name) {
			continue
		}
		r, err := e.call(ctx, session, input)
		if err != nil {
			problems = append(problems, err)
		} else if r.context != "" {
			texts = append(texts, r.context)
		}
	}
	return texts, errors.Join(problems...)
}
