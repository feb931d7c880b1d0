package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/sdk"
)

func (a *app) chatCommand() *cobra.Command {
	f := runFlags{format: "text", chat: true}
	cmd := &cobra.Command{
		Use:   "chat [flags] [prompt…]",
		Short: "Hold a conversation: prompts and commands, one after another",
		Long: `Hold a conversation: prompts and commands, one after another.

A line is a prompt, in which @file and @dir/ attach what they name and @agent asks for a subagent. A line that begins
with / is a command; /help lists them. A prompt of several lines has a backslash at the end of each but the last, or
stands between two marks """; Alt-Enter and Ctrl-J begin a line, and pasted lines stay together.

Up and Down bring older prompts back, Ctrl-R searches them, Tab completes. Ctrl-C interrupts a turn and clears a line;
Ctrl-D leaves.

Without a terminal at stdin each line of it is a prompt or a command, what would have to be asked is refused unless
--auto allows it, and the exit code is that of the first failure.`,
		Example: `  tenon chat
  tenon chat -c
  tenon chat --agent plan "how would we add a cache?"
  printf 'what is this?\n/cost\n' | tenon chat`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.chat(cmd.Context(), &f, args) },
	}
	f.conversation(cmd)
	cmd.Flags().BoolVar(&f.watch, "watch", false, "load the plugins of --plugin anew between turns when they change")
	return cmd
}

func (a *app) chat(ctx context.Context, f *runFlags, args []string) error {
	signals, stop := catchSignals()
	defer stop()
	m, in, err := a.prepare(ctx, f, args, signals, a.screen.answers)
	if err != nil {
		return err
	}
	c := newConversation(a, m, f, signals)
	c.commands = true
	c.source = c.promptSource(ctx)
	if m.options.interactive {
		c.tell("/help lists the commands, Ctrl-D leaves")
	}
	err = c.hold(ctx, in)
	if err == nil {
		c.sayHowToGoOn()
	}
	return err
}

// promptSource chooses where prompts come from: an editor where the terminal can show one, else lines.
func (c *conversation) promptSource(ctx context.Context) promptSource {
	s := c.a.screen
	switch {
	case !s.answers:
		return &lineSource{keys: c.keys}
	case !s.live:
		return &lineSource{keys: c.keys, screen: s, prompt: c.promptText}
	}
	history, err := openHistory(filepath.Join(c.m.workspace.dirs.data, historyFile))
	if err != nil {
		c.a.log.Warn("older prompts cannot be read", "err", err)
	}
	editor := &lineEditor{history: history.entries, complete: func(before string) completion { return c.completions(ctx, before) }}
	editor.reset()
	return &editSource{s: s, keys: c.keys, log: c.a.log, history: history, editor: editor, prompt: c.promptText}
}

// promptText is what stands before the user's text: the agent, unless it is the usual one.
func (c *conversation) promptText() string {
	if name := c.agentName(); name != "" && name != sdk.AgentBuild {
		return oneLine(name) + "> "
	}
	return "> "
}

// agentName is the agent that answers next; empty: the default one.
func (c *conversation) agentName() string {
	switch {
	case c.agent != "":
		return c.agent
	case c.session != nil && c.session.Agent != "":
		return c.session.Agent
	}
	return c.m.Config().DefaultAgent
}

// modelName is the model that answers next, as provider/model; empty when that is not decided yet.
func (c *conversation) modelName() string {
	switch {
	case c.model != "":
		return c.model
	case c.session != nil && c.session.Model != nil:
		return c.session.Model.ProviderID + "/" + c.session.Model.ID
	case c.fallback != "":
		return c.fallback
	}
	return c.m.Config().Model
}

// recalled is how many messages of an older session are shown when it is taken up.
const recalled = 2

// recall shows what the session is and how it ended.
func (c *conversation) recall(ctx context.Context) error {
	c.tell(c.session.ID + " · " + oneLine(c.session.Title) + " · " + ago(c.session.Time.Updated, time.Now()))
	messages, err := c.messages(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := max(0, len(messages)-recalled); i < len(messages); i++ {
		c.a.screen.showMessage(&b, &messages[i], c.session.Directory)
	}
	if text := strings.Trim(b.String(), "\n"); text != "" && !c.f.quiet {
		c.a.screen.line(text)
	}
	return nil
}
