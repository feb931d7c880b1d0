package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// command is a slash command, also listed in the palette. Its aliases are its names in other agents.
type command struct {
	name    string
	aliases []string
	args    string // the arguments, as shown in help
	short   string
	keys    string // keys with the same effect
	leader  string // key after ctrl+x
	session bool   // it needs a session
	run     func(m *model, args string)
}

// commands lists the commands in the order of help.
func commands() []command {
	return []command{
		{name: "help", aliases: []string{"?"}, short: "keys and commands", keys: "f1", leader: "?", run: func(m *model, _ string) { m.open(m.helpScreen()) }},
		{name: "new", aliases: []string{"clear"}, short: "start a new session", leader: "n", run: func(m *model, _ string) { m.switchTo("") }},
		{name: "sessions", aliases: []string{"resume", "continue"}, short: "continue, rename, delete or fork a session", leader: "l", run: func(m *model, _ string) { m.openSessions() }},
		{name: "model", aliases: []string{"models"}, args: "[model]", short: "choose the model", leader: "m", run: (*model).chooseModel},
		{name: "agent", aliases: []string{"agents"}, short: "choose the agent", keys: "tab", leader: "a", run: func(m *model, _ string) { m.chooseAgent() }},
		{name: "effort", aliases: []string{"variant"}, short: "choose the reasoning effort", keys: "ctrl+t", run: func(m *model, _ string) { m.chooseEffort() }},
		{name: "mode", short: "change the mode: ask, accept edits, plan", keys: "shift+tab", run: func(m *model, _ string) { m.nextMode() }},
		{name: "theme", aliases: []string{"themes"}, short: "choose the theme", leader: "t", run: func(m *model, _ string) { m.chooseTheme() }},
		{name: "undo", session: true, short: "undo the last prompt: its file changes and its messages", leader: "u", run: func(m *model, _ string) { m.revert(host.RevertOptions{}) }},
		{name: "redo", session: true, short: "restore the prompt that was undone last, until the next prompt", leader: "r", run: func(m *model, _ string) { m.revert(host.RevertOptions{Redo: true}) }},
		{name: "timeline", session: true, aliases: []string{"rewind"}, short: "go to a prompt, undo from it on, or fork before it", keys: "esc esc", leader: "g", run: func(m *model, _ string) { m.openTimeline() }},
		{name: "find", session: true, aliases: []string{"search"}, args: "[text]", short: "search the lines of the session", leader: "f", run: (*model).find},
		{name: "fork", session: true, short: "continue in a copy of the session", run: func(m *model, _ string) { m.forkOf(m.root, "") }},
		{name: "compact", session: true, aliases: []string{"summarize"}, short: "summarize the conversation to free up context", leader: "c", run: func(m *model, _ string) { m.compact() }},
		{name: "rename", session: true, args: "title", short: "change the title of the session", run: (*model).rename},
		{name: "diff", session: true, short: "show the file changes of the session", leader: "d", run: func(m *model, _ string) { m.openDiff() }},
		{name: "hooks", session: true, aliases: []string{"ledger", "explain"}, short: "show what plugins changed in each step", leader: "h", run: func(m *model, _ string) { m.openLedger() }},
		{name: "queue", short: "edit or remove waiting prompts", leader: "w", run: func(m *model, _ string) { m.openQueue() }},
		{name: "status", aliases: []string{"cost", "usage", "context"}, short: "model, context, tokens and cost", leader: "s", run: func(m *model, _ string) { m.open(m.statusScreen()) }},
		{name: "editor", short: "write the prompt in your editor", leader: "e", run: func(m *model, _ string) { m.editExternally() }},
		{name: "copy", short: "copy the last answer", leader: "y", run: func(m *model, _ string) { m.copyAnswer() }},
		{name: "details", short: "show or hide details of tools and reasoning", keys: "ctrl+o", leader: "o", run: func(m *model, _ string) { m.thread().UnfoldAll() }},
		{name: "mouse", short: "switch the mouse on or off; without it, the terminal selects text", leader: "k", run: func(m *model, _ string) { m.toggleMouse() }},
		{name: "connect", aliases: []string{"login"}, args: "[provider]", short: "store the key of a provider, or sign in to it", run: (*model).connect},
		{name: "log", short: "show warnings from this process", run: func(m *model, _ string) { m.open(m.logScreen()) }},
		{name: "exit", aliases: []string{"quit", "q"}, short: "exit", keys: "ctrl+d", leader: "q", run: func(m *model, _ string) { m.start(tea.Quit) }},
	}
}

// commandList lists the built-in commands and those of the configuration and of plugins, which have no run function. Built-in commands hide
// others of the same name.
func (m *model) commandList() []command {
	out := commands()
	for i := range m.inventory.commands {
		if c := &m.inventory.commands[i]; find(out, c.Name) == nil {
			out = append(out, command{name: terminal.OneLine(c.Name), args: "[arguments]", short: terminal.OneLine(c.Description)})
		}
	}
	return out
}

// find returns the command with a name or alias, or nil.
func find(list []command, name string) *command {
	for i := range list {
		if c := &list[i]; c.name == name || slices.Contains(c.aliases, name) {
			return c
		}
	}
	return nil
}

// mayHoldKey reports whether a line may contain a key: a sign-in with arguments, or an unknown command, which may be a misspelled sign-in
// such as /connect=KEY.
func (m *model) mayHoldKey(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 || words[0][0] != '/' {
		return false
	}
	name := words[0][1:]
	if c := find(commands(), name); c != nil {
		return c.name == "connect" && len(words) > 1
	}
	return m.custom(name) == nil && !isPath(name)
}

// isPath reports whether the word after a "/" at the beginning of a prompt is the rest of a path, not a command. Words that resemble a sign-in,
// such as /conect/openai or /connect=KEY, are not paths: their arguments may be a key that contains a "/".
func isPath(name string) bool {
	if !strings.Contains(name, "/") {
		return false
	}
	first := name[:strings.IndexAny(name, "/=:\t\n")]
	return !nearest.Slip(first, "connect") && !nearest.Slip(first, "login")
}

// custom returns the command of the configuration or of a plugin with this name, or nil.
func (m *model) custom(name string) *host.CommandInfo {
	for i := range m.inventory.commands {
		if c := &m.inventory.commands[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// runCommand runs a command, and returns false if the name is unknown. Files attached to a built-in command stay attached.
func (m *model) runCommand(name, args string, files []string) bool {
	if c := find(commands(), name); c != nil {
		if attach(&m.input, files...); args != "" && c.args == "" {
			m.problem(fmt.Sprintf("/%s takes no argument", name))
		} else {
			m.execute(c, args)
		}
		return true
	}
	c := m.custom(name)
	if c == nil {
		return false
	}
	in := m.promptInput(args, files)
	if c.Agent != "" && m.mode != modePlan {
		in.Agent = m.agent
	}
	in.Command, in.Variant = name, m.effort // the command's own variant overrides the session's
	m.send(in)
	return true
}

// leaderKey runs the command of a key after ctrl+x.
func (m *model) leaderKey(name string) {
	list := commands()
	i := slices.IndexFunc(list, func(c command) bool { return c.leader == name })
	switch {
	case name == "down":
		m.enter()
	case name == "up":
		m.leave()
	case name == "left":
		m.sibling(-1)
	case name == "right":
		m.sibling(1)
	case name == "esc" || name == "ctrl+x":
	case i >= 0:
		m.execute(&list[i], "")
	default:
		m.problem("ctrl+x " + name + " is not a command; ctrl+x ? lists the keys")
	}
}

// execute runs a built-in command, if it has the session that it needs.
func (m *model) execute(c *command, args string) {
	if c.session && m.root == "" {
		m.say("the session is empty; send a prompt first")
		return
	}
	c.run(m, args)
}

// revert undoes the latest prompt, or all prompts from a message on, or restores a prompt.
func (m *model) revert(o host.RevertOptions) {
	o.SessionID = cmp.Or(o.SessionID, m.root)
	prompts := m.main().Prompts()
	m.do(func(ctx context.Context) (then, error) {
		r, err := m.host.Revert(ctx, o)
		if errors.As(err, new(*host.ConflictError)) {
			o.Force = true
			return m.opens(m.conflictQuestion(err, func() { m.revert(o) })), nil
		}
		return func() { m.reverted(o, r, prompts) }, err
	})
}

// reverted reports the result of undo or redo, reloads the session, and puts the undone prompt into the input or removes it from there.
func (m *model) reverted(o host.RevertOptions, r *host.Reverted, prompts []transcript.Prompt) {
	done := view.Plural(len(r.Files), "file")
	if r.Messages > 0 {
		done = view.Plural(r.Messages, "message") + " and " + done
	}
	var prompt transcript.Prompt
	switch {
	case !o.Redo:
		done += " undone; ctrl+x r restores them until the next prompt"
		if r.Off != "" {
			done += "; " + terminal.OneLine(r.Off)
		}
		if i := slices.IndexFunc(prompts, func(p transcript.Prompt) bool { return p.ID == r.MessageID }); i >= 0 {
			prompt = prompts[i]
		}
	case r.MessageID != "":
		done += " and the messages restored; ctrl+x r restores the next prompt"
	default:
		done += " and the messages restored"
	}
	m.say(done)
	if text, files := m.input.Text(); m.input.Empty() || text == m.undone.Text && slices.Equal(files, m.undone.Files) {
		m.undone = prompt
		m.input.Set(prompt.Text)
		attach(&m.input, prompt.Files...)
	}
	m.load(o.SessionID)
}

// forkOf continues in a copy of a session up to a message; empty: all of it.
func (m *model) forkOf(session, message string) {
	fetch(m, func(ctx context.Context) (*sdk.Session, error) { return m.host.Fork(ctx, session, message) }, func(s *sdk.Session) {
		m.say("continuing in a copy; the original session and all files are unchanged")
		m.switchTo(s.ID)
	})
}

func (m *model) compact() {
	session, name := m.root, m.modelName
	if m.main().Busy() {
		m.say("the conversation is summarized after this step")
	}
	m.do(func(ctx context.Context) (then, error) {
		err := m.host.Compact(ctx, session, name)
		if errors.As(err, new(*host.TurnError)) { // an event has shown the error
			return m.note(m.o.remedy(err)), nil
		}
		return func() { m.load(session) }, err
	})
}

func (m *model) rename(title string) {
	if title == "" {
		m.problem("write the title after /rename")
		return
	}
	session := m.root
	m.do(func(ctx context.Context) (then, error) {
		return m.note("renamed"), m.host.SetTitle(ctx, session, title)
	})
}

// toggleMouse switches the mouse on or off. While it is off, the terminal itself selects and scrolls.
func (m *model) toggleMouse() {
	off := !m.settings.NoMouse
	m.say("mouse " + map[bool]string{true: "off: the terminal selects text", false: "on: the wheel scrolls, a click shows details"}[off])
	m.keep(func(s *settings.Settings) { s.NoMouse = off })
}

func (m *model) copyAnswer() {
	text := m.thread().Answer()
	if text == "" {
		m.say("no answer yet")
		return
	}
	m.say("copied the last answer")
	m.copy(terminal.Prose(strings.ReplaceAll(text, "\r\n", "\n"))) // as on the screen: a terminal into which it is pasted would obey escape sequences
}
