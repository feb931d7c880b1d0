package chat

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

func Command(a *cli.App) *cobra.Command {
	f := turn.Flags{Chat: true}
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
		RunE: func(cmd *cobra.Command, args []string) error { return runChat(cmd.Context(), a, &f, args) },
	}
	f.Register(cmd)
	cmd.Flags().BoolVar(&f.Watch, "watch", false, "load the plugins of --plugin anew between turns when they change")
	return cmd
}

func runChat(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	signals, stop := turn.CatchSignals()
	defer stop()
	m, in, err := turn.Prepare(ctx, a, f, args, signals, a.Screen.Answers)
	if err != nil {
		return err
	}
	c := newConversation(a, m, f, signals)
	c.commands = true
	c.source = c.promptSource(ctx)
	if m.Options.Interactive {
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
	s := c.a.Screen
	switch {
	case !s.Answers:
		return &lineSource{keys: c.keys}
	case !s.Live:
		return &lineSource{keys: c.keys, screen: s, prompt: c.promptText}
	}
	history, err := openHistory(filepath.Join(c.m.Workspace.Dirs.Data, historyFile))
	if err != nil {
		c.a.Log.Warn("older prompts cannot be read", "err", err)
	}
	editor := &lineEditor{history: history.entries, complete: func(before string) completion { return c.completions(ctx, before) }}
	editor.reset()
	return &editSource{s: s, keys: c.keys, log: c.a.Log, history: history, editor: editor, prompt: c.promptText}
}

// promptText is what stands before the user's text: the agent, unless it is the usual one.
func (c *conversation) promptText() string {
	if name := c.agentName(); name != "" && name != sdk.AgentBuild {
		return terminal.OneLine(name) + "> "
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
	c.tell(c.session.ID + " · " + terminal.OneLine(c.session.Title) + " · " + view.Ago(c.session.Time.Updated, time.Now()))
	messages, err := c.messages(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := max(0, len(messages)-recalled); i < len(messages); i++ {
		view.ShowMessage(c.a.Screen, &b, &messages[i], c.session.Directory)
	}
	if text := strings.Trim(b.String(), "\n"); text != "" && !c.f.Quiet {
		c.a.Screen.Line(text)
	}
	return nil
}
