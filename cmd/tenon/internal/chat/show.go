package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func (c *conversation) help(ctx context.Context, _ string) error {
	t := &view.Table{}
	for _, command := range c.commandList(ctx) {
		t.Add(strings.TrimSpace("/"+command.name+" "+command.args), command.short)
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	if !c.m.Options.Interactive {
		return nil
	}
	return c.a.Print(`
Each line is a prompt. @file and @dir/ attach files, @agent calls a subagent.
!command runs a shell command. To enter several lines, end each line except
the last with "\", or put """ before and after the text.
Ctrl-C interrupts a turn, Ctrl-D exits.
`)
}

// chooseModel lists the models, or chooses one. It may be an unlisted one of a known provider.
func (c *conversation) chooseModel(ctx context.Context, args string) error {
	if args == "" {
		if err := inspect.ListModels(ctx, c.a, c.m, "", host.ModelListOptions{Configured: true}); err != nil {
			return err
		}
		if name := c.modelName(); name != "" {
			c.notify("using " + name + "; /model NAME chooses another")
		}
		return nil
	}
	names := cli.Mapped(c.m.Models(ctx), func(info *host.ModelInfo) string { return info.Model.Ref().String() })
	provider, _, full := strings.Cut(args, "/")
	if !full || !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, provider+"/") }) {
		return cli.Fail(cli.ExitModel, fmt.Errorf("model %q not found", args), cli.Suggest("/model lists the available models", "%q", args, names))
	}
	c.model = args
	c.notify("using " + c.model + " from now on")
	return nil
}

// chooseAgent lists the agents that can answer users, or chooses one.
func (c *conversation) chooseAgent(_ context.Context, args string) error {
	agents := slices.DeleteFunc(slices.Clone(c.m.Agents()), func(a sdk.Agent) bool { return a.Mode == sdk.ModeSubagent || a.Hidden })
	if args != "" {
		if !slices.ContainsFunc(agents, func(a sdk.Agent) bool { return a.Name == args }) {
			return cli.UsageError("/agent lists them", "agent %q not found", args)
		}
		c.agent = args
		c.notify("using " + args + " from now on")
		return nil
	}
	now := cmp.Or(c.agentName(), sdk.AgentBuild)
	t := &view.Table{}
	for _, agent := range agents {
		mark := ""
		if agent.Name == now {
			mark = "*"
		}
		t.Add(mark, agent.Name, agent.Description)
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	c.notify("/agent NAME chooses another; @NAME in a prompt calls a subagent")
	return nil
}

// cost shows the usage of the session with its subagents.
func (c *conversation) cost(ctx context.Context, _ string) error {
	var u inspect.Usage
	u.Add(0, c.session.Tokens, c.session.Cost)
	list, err := frontend.Subagents(ctx, c.m, c.session.ID)
	if err != nil {
		return err
	}
	for i := range list {
		u.Add(0, list[i].Tokens, list[i].Cost)
	}
	text := view.Usage(u.Tokens, u.Cost)
	if len(list) > 0 {
		text += " (with " + view.Plural(len(list), "subagent") + ")"
	}
	return c.a.Print(text + "\n")
}

// hooks shows the hook calls of the last turn.
func (c *conversation) hooks(ctx context.Context, _ string) error {
	local := frontend.Local{Machine: c.m}
	h, err := local.History(ctx, c.session.ID)
	if err != nil {
		return err
	}
	list, err := local.Ledger(ctx, c.session.ID)
	if err != nil {
		return err
	}
	last := map[string]bool{}
	for _, m := range slices.Backward(h.Messages) {
		last[m.Info.Head().ID] = true
		if m.Info.Role() == sdk.RoleUser && view.TypedText(m.Parts) != "" {
			break
		}
	}
	screen := c.a.Screen.ForStdout()
	var b strings.Builder
	inspect.ExplainRequests(screen, &b, slices.DeleteFunc(list, func(e inspect.Explained) bool { return !last[e.MessageID] }))
	if b.Len() == 0 {
		c.notify("no hook was called in the last turn; tenon hooks lists all hooks, tenon explain shows the whole session")
		return nil
	}
	return c.a.Print(c.a.Mask.Clean(b.String()))
}
