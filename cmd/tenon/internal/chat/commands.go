package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// chatCommand is a command of the chat. Its aliases are its names in other agents.
type chatCommand struct {
	name    string
	aliases []string
	args    string // the arguments, as shown in help
	short   string
	session bool // it needs a session
	run     func(c *conversation, ctx context.Context, args string) error
}

// chatCommands lists the commands in the order of help.
func chatCommands() []chatCommand {
	return []chatCommand{
		{name: "help", aliases: []string{"?"}, short: "list the commands", run: (*conversation).help},
		{name: "undo", session: true, args: "[force]", short: "undo the last prompt: its file changes and its messages", run: (*conversation).undo},
		{name: "redo", session: true, args: "[force]", short: "restore the prompt that was undone last, until the next prompt", run: (*conversation).redo},
		{name: "diff", session: true, short: "show the file changes of the session", run: (*conversation).diff},
		{name: "compact", session: true, aliases: []string{"summarize"}, short: "summarize the conversation to free up context", run: (*conversation).compact},
		{name: "fork", session: true, short: "continue in a copy of the session", run: (*conversation).fork},
		{name: "new", aliases: []string{"clear"}, short: "start a new session", run: (*conversation).fresh},
		{name: "model", aliases: []string{"models"}, args: "[model]", short: "list the models, or choose one", run: (*conversation).chooseModel},
		{name: "agent", aliases: []string{"agents"}, args: "[agent]", short: "list the agents, or choose one", run: (*conversation).chooseAgent},
		{name: "cost", session: true, aliases: []string{"usage", "stats"}, short: "show the tokens and cost of the session", run: (*conversation).cost},
		{name: "hooks", session: true, short: "show the hook calls of the last turn", run: (*conversation).hooks},
		{name: "exit", aliases: []string{"quit", "q"}, short: "exit", run: func(c *conversation, _ context.Context, _ string) error { c.left = true; return nil }},
	}
}

// commandLine splits a command into name and arguments. A line that begins with a space is not a command.
func commandLine(text string) (name, args string, ok bool) {
	switch strings.TrimSpace(text) {
	case "exit", "quit", ":q": // as in other agents
		return "exit", "", true
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(rest, " \t\n")
	if end < 0 {
		end = len(rest)
	}
	return rest[:end], strings.TrimSpace(rest[end:]), true
}

// findCommand returns the command with a name or alias, or nil.
func findCommand(list []chatCommand, name string) *chatCommand {
	i := slices.IndexFunc(list, func(c chatCommand) bool { return c.name == name || slices.Contains(c.aliases, name) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// commandList lists the commands of the chat, and those of the configuration and of plugins, which have no run function. Commands of the chat hide
// others of the same name.
func (c *conversation) commandList(ctx context.Context) []chatCommand {
	out := chatCommands()
	for _, info := range c.m.CommandInfos(ctx) {
		if findCommand(out, info.Name) == nil {
			out = append(out, chatCommand{name: info.Name, short: info.Description})
		}
	}
	return out
}

// command runs a command of the chat, or one from configuration or a plugin, and shows errors.
func (c *conversation) command(ctx context.Context, name, args string) {
	name = cmp.Or(name, "help")
	if command := findCommand(chatCommands(), name); command != nil {
		if err := c.builtIn(ctx, command, name, args); errors.Is(err, cli.ErrOutput) {
			c.ended = err
		} else if err != nil {
			c.problem(err)
		}
		return
	}
	list := c.commandList(ctx)
	if findCommand(list, name) != nil {
		c.turn(ctx, &host.PromptInput{Command: name, Text: args})
		return
	}
	if strings.Contains(name, "/") { // a path
		c.turn(ctx, &host.PromptInput{Text: strings.TrimSpace("/" + name + " " + args)})
		return
	}
	names := cli.Mapped(list, func(command *chatCommand) string { return command.name })
	fix := `/help lists the commands; to send it as a prompt, put a space before the "/"`
	c.problem(cli.UsageError(cli.Suggest(fix, "/%s", name, names), "unknown command %q", "/"+name))
}

// builtIn runs a command of the chat.
func (c *conversation) builtIn(ctx context.Context, command *chatCommand, name, args string) error {
	switch {
	case args != "" && command.args == "":
		return cli.UsageError("omit it, or write it on its own line as a prompt", "/%s takes no argument, but got %q", name, args)
	case command.session && c.session == nil:
		return cli.UsageError("send a prompt first; tenon chat -s ID continues an older session", "the session is empty")
	case command.session:
		if err := c.open(ctx, nil); err != nil { // reads the current state of the session
			return err
		}
	}
	return command.run(c, ctx, args)
}

// revert undoes or redoes a prompt. The only argument is "force".
func (c *conversation) revert(ctx context.Context, args string, redo bool) (*host.Reverted, error) {
	if args != "" && args != "force" {
		return nil, cli.UsageError(`the only argument is "force", which overwrites files even if they have been modified since then`, "unknown argument %q", args)
	}
	r, err := c.m.Revert(ctx, host.RevertOptions{SessionID: c.session.ID, Redo: redo, Force: args == "force"})
	if err != nil {
		return nil, err
	}
	return r, c.open(ctx, nil)
}

// undo undoes the last prompt, and shows it, so that the user can copy and change it.
func (c *conversation) undo(ctx context.Context, args string) error {
	r, err := c.revert(ctx, args, false)
	if err != nil {
		return err
	}
	if err := sessions.ShowReverted(c.a, r, "undone", "/redo restores them until the next prompt"); err != nil {
		return err
	}
	messages, err := c.m.Store.Messages(ctx, c.session.ID, store.Page{From: r.MessageID})
	if err = c.a.WithoutDamage(err); err != nil || len(messages) == 0 {
		return err
	}
	if text := view.Draft(messages[0].Parts); text != "" {
		c.notify("the prompt was: " + text)
	}
	return nil
}

func (c *conversation) redo(ctx context.Context, args string) error {
	r, err := c.revert(ctx, args, true)
	if err != nil {
		return err
	}
	hint := ""
	if r.MessageID != "" {
		hint = "/redo again restores the next prompt"
	}
	return sessions.ShowReverted(c.a, r, "restored", hint)
}

func (c *conversation) diff(ctx context.Context, _ string) error {
	list, err := c.m.SessionChanges(ctx, c.session.ID)
	if err != nil {
		return err
	}
	return sessions.ShowChanges(c.a, list)
}

func (c *conversation) compact(ctx context.Context, _ string) error {
	c.drive(ctx, func(context.Context) (*sdk.Session, error) { return c.session, nil },
		func(ctx context.Context, session string) (*sdk.MessageWithParts, error) {
			return nil, c.m.Compact(ctx, session, c.model)
		})
	return nil
}

func (c *conversation) fork(ctx context.Context, _ string) error {
	fork, err := c.m.Fork(ctx, c.session.ID, "")
	if err != nil {
		return err
	}
	c.notify("continuing in a copy, " + fork.ID + "; all files are unchanged")
	c.session = fork
	return nil
}

// fresh makes the next prompt start a new session.
func (c *conversation) fresh(context.Context, string) error {
	if c.session == nil {
		c.notify("this session is new")
		return nil
	}
	c.notify("the next prompt starts a new session; tenon chat -s " + c.session.ID + " returns to this one")
	c.session = nil
	return nil
}
