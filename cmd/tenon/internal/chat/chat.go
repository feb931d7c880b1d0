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

// Command returns "tenon chat".
func Command(a *cli.App) *cobra.Command {
	f := turn.Flags{Chat: true}
	cmd := &cobra.Command{
		Use:   "chat [flags] [prompt…]",
		Short: "Start an interactive chat",
		Long: `Start an interactive chat.

Each line is a prompt. In a prompt, @file and @dir/ attach files and directories, and @agent calls a subagent. A line
that begins with / is a command; /help lists the commands. To enter several lines, end each line except the last with a
backslash, or put """ before and after the text. Alt-Enter and Ctrl-J insert a line break. Pasted lines stay together.

Up and Down recall earlier prompts, Ctrl-R searches them, and Tab completes. Ctrl-C interrupts a turn or clears the
line. Ctrl-D exits.

If stdin is not a terminal, each of its lines is a prompt or a command. Actions that need permission are refused unless
--auto allows them, and the exit code is that of the first failure.`,
		Example: `  tenon chat
  tenon chat -c
  tenon chat --agent plan "how would we add a cache?"
  printf 'what is this?\n/cost\n' | tenon chat`,
		RunE: func(cmd *cobra.Command, args []string) error { return runChat(cmd.Context(), a, &f, args) },
	}
	f.Register(cmd)
	cmd.Flags().BoolVar(&f.Watch, "watch", false, "reload --plugin plugins between turns when they change")
	return cmd
}

func runChat(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	signals, stop := turn.CatchSignals()
	defer stop()
	m, in, err := turn.Prepare(ctx, a, f, args, signals, a.Screen.Answers)
	if err != nil {
		return err
	}
	c := newConversation(m, f, signals)
	c.commands = true
	c.source = c.promptSource(ctx)
	if m.Options.Interactive {
		c.notify("/help lists the commands, Ctrl-D exits")
	}
	err = c.hold(ctx, in)
	if err == nil {
		c.tellResume()
	}
	return err
}

// promptSource returns an editor if the terminal supports it, else a source of lines.
func (c *conversation) promptSource(ctx context.Context) promptSource {
	s := c.a.Screen
	switch {
	case !s.Answers:
		return &lineSource{keys: c.keys}
	case !s.Live:
		return &lineSource{keys: c.keys, screen: s, prompt: c.promptText}
	}
	history, err := openHistory(filepath.Join(c.m.Workspace.Project.DataDir, historyFile))
	if err != nil {
		c.a.Log.Warn("the prompt history cannot be read", "err", err)
	}
	editor := &lineEditor{history: history.entries, complete: func(before string) completion { return c.completions(ctx, before) }}
	editor.reset()
	return &editSource{s: s, keys: c.keys, log: c.a.Log, history: history, editor: editor, prompt: c.promptText}
}

// promptText returns the prompt string, with the agent unless it is the default one.
func (c *conversation) promptText() string {
	if name := c.agentName(); name != "" && name != sdk.AgentBuild {
		return terminal.OneLine(name) + "> "
	}
	return "> "
}

// agentName returns the current agent; empty means the default one.
func (c *conversation) agentName() string {
	switch {
	case c.agent != "":
		return c.agent
	case c.session != nil && c.session.Agent != "":
		return c.session.Agent
	}
	return c.m.Config().DefaultAgent
}

// modelName returns the current model as provider/model; empty if it is not known yet.
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

// recalled is the number of shown messages when a session is continued.
const recalled = 2

// recall shows a continued session and its last messages.
func (c *conversation) recall(ctx context.Context) error {
	c.notify(c.session.ID + " · " + terminal.OneLine(c.session.Title) + " · " + view.Ago(c.session.Time.Updated, time.Now()))
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
