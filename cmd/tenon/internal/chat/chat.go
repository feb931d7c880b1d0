package chat

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// Command returns "tenon chat".
func Command(a *cli.App) cli.Command {
	f := turn.Flags{Chat: true}
	return cli.Command{
		Run:   func(cmd *cobra.Command, args []string) error { return runChat(cmd.Context(), a, &f, args) },
		Flags: cli.Flags{"watch": &f.Watch},
		More:  f.Register,
	}
}

func runChat(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	m, in, err := turn.Prepare(ctx, a, f, args, a.Screen.Answers)
	if err != nil {
		return err
	}
	signals, stop := a.TakeSignals()
	defer stop()
	a.Screen.Live = false // text that was written never changes
	c := newConversation(m, f, signals)
	c.commands = true
	if m.Options.Interactive {
		c.notify(c.greeting())
	}
	err = c.hold(ctx, in)
	if err == nil {
		c.notify(c.resume())
	}
	return err
}

// greeting describes the destination of prompts: directory, model and agent.
func (c *conversation) greeting() string {
	words := []string{c.m.Workspace.Project.Directory}
	if name := c.modelName(); name != "" {
		words = append(words, name)
	}
	if name := c.agentName(); name != "" && name != sdk.AgentBuild {
		words = append(words, "agent "+name)
	}
	return strings.Join(words, " · ") + "\n/help lists the commands, Ctrl-D exits"
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
	used := ""
	if c.session != nil {
		used = c.session.Agent
	}
	return cmp.Or(c.agent, used, c.m.Config().DefaultAgent)
}

// modelName returns the current model as provider/model; empty if it is not known yet.
func (c *conversation) modelName() string {
	var used *sdk.SessionModel
	if c.session != nil {
		used = c.session.Model
	}
	itsAgent := frontend.AgentModel(c.m.Agents(), cmp.Or(c.agentName(), sdk.AgentBuild))
	return cmp.Or(c.model, itsAgent, used.String(), c.fallback, c.m.Config().Model)
}

// recalled is the number of messages shown when a session is continued.
const recalled = 2

// recall shows a continued session and its last messages.
func (c *conversation) recall(ctx context.Context) error {
	c.notify(c.session.ID + " · " + terminal.OneLine(c.session.Title) + " · " + view.Ago(c.session.Time.Updated, time.Now()))
	h, err := frontend.Local{Machine: c.m}.History(ctx, c.session.ID)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := max(0, len(h.Messages)-recalled); i < len(h.Messages); i++ {
		view.ShowMessage(c.a.Screen, &b, &h.Messages[i], c.session.Directory, false)
	}
	if text := strings.Trim(b.String(), "\n"); text != "" && !c.f.Quiet {
		c.a.Screen.Line(text)
	}
	return nil
}
