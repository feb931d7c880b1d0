package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// listedSessions is the number of sessions that /sessions lists.
const listedSessions = 20

func (c *conversation) help(ctx context.Context, args string) error {
	configured := c.configuredCommands(ctx)
	if name := strings.TrimPrefix(args, "/"); name != "" {
		return c.helpOn(configured, name)
	}
	t := &view.Table{}
	for _, command := range chatCommands() {
		t.Add(strings.TrimSpace("/"+command.name+" "+command.args), command.short)
	}
	for i := range configured {
		t.Add("/"+configured[i].Name, configured[i].Description)
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

// helpOn explains one command.
func (c *conversation) helpOn(configured []host.CommandInfo, name string) error {
	if command, ok := findChatCommand(name); ok {
		text := strings.TrimSpace("/"+command.name+" "+command.args) + "\n  " + command.short + "\n"
		if len(command.aliases) > 0 {
			text += "  also /" + strings.Join(command.aliases, ", /") + "\n"
		}
		return c.a.Print(text)
	}
	i := slices.IndexFunc(configured, func(info host.CommandInfo) bool { return info.Name == name })
	if i < 0 {
		return cli.UsageError("/help lists the commands", "unknown command %q", "/"+name)
	}
	info := &configured[i]
	text := "/" + terminal.OneLine(info.Name) + "\n"
	if info.Description != "" {
		text += "  " + terminal.OneLine(info.Description) + "\n"
	}
	return c.a.Print(text + "  from " + inspect.Source(info.Plugin, info.Origin) + "\n")
}

// sessions lists the sessions of the project, or continues one, selected by its number in the list, its ID or a unique prefix.
func (c *conversation) sessions(ctx context.Context, args string) error {
	list, err := frontend.Local{Machine: c.m}.Sessions(ctx)
	if err != nil {
		return err
	}
	list = list[:min(len(list), listedSessions)]
	if args != "" {
		return c.switchTo(ctx, list, args)
	}
	if len(list) == 0 {
		c.notify("no sessions here yet")
		return nil
	}
	t := &view.Table{}
	for i := range list {
		mark := ""
		if c.session != nil && list[i].ID == c.session.ID {
			mark = "*"
		}
		t.Add(mark, strconv.Itoa(i+1), list[i].ID, view.Ago(list[i].Updated, time.Now()), view.Money(list[i].Cost), list[i].Title)
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	c.notify("/sessions NUMBER or /sessions ID continues one; a unique prefix of the ID is enough")
	return nil
}

func (c *conversation) switchTo(ctx context.Context, list []store.Listed, name string) error {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(list) {
			return cli.UsageError("/sessions lists them", "no session number %d", n)
		}
		name = list[n-1].ID
	}
	s, err := cli.FindSession(ctx, c.m.Store, name)
	if err != nil {
		return err
	}
	c.session, c.model, c.agent, c.fallback = s, "", "", "" // the session's own apply
	if s.Directory != c.m.Workspace.SessionDirectory() {
		c.notify(fmt.Sprintf("note: the session was started in %s; this conversation works in %s", s.Directory, c.m.Workspace.Project.Directory))
	}
	return c.recall(ctx)
}

// chooseModel lists the models, or chooses one by its name or a unique part of it.
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
	names := c.modelNames(ctx)
	matches := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.Contains(strings.ToLower(name), strings.ToLower(args))
	})
	provider, _, full := strings.Cut(args, "/")
	switch {
	case slices.Contains(names, args):
		c.model = args
	case len(matches) == 1:
		c.model = matches[0]
	case len(matches) > 1:
		return cli.UsageError("write more of the name", "several models match %q: %s", args, strings.Join(matches, ", "))
	case full && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, provider+"/") }):
		c.model = args // an unlisted model of a known provider
	default:
		return cli.Fail(cli.ExitModel, fmt.Errorf("model %q not found", args), "/model lists the available models")
	}
	c.notify("using " + c.model + " from now on")
	return nil
}

func (c *conversation) modelNames(ctx context.Context) []string {
	var out []string
	for _, info := range c.m.Models(ctx) {
		out = append(out, info.Model.Ref().String())
	}
	return out
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

// cost shows the usage of the session and its subagents, and the share of the context in use.
func (c *conversation) cost(ctx context.Context, _ string) error {
	count, below, err := c.subagents(ctx, c.session.ID)
	if err != nil {
		return err
	}
	t := &view.Table{}
	t.Add("", "in", "cached", "out", "reasoning", "cost")
	row := func(name string, u *inspect.Usage) {
		t.Add(name, view.Limit(u.Tokens.Input+u.Tokens.Cache.Write), view.Limit(u.Tokens.Cache.Read), view.Limit(u.Tokens.Output), view.Limit(u.Tokens.Reasoning), view.Money(u.Cost))
	}
	all := inspect.Usage{Tokens: c.session.Tokens, Cost: c.session.Cost}
	row("session", &all)
	if count > 0 {
		row(view.Plural(count, "subagent"), &below)
		all.Add(0, below.Tokens, below.Cost)
		row("together", &all)
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	return c.fullness(ctx)
}

// subagents returns the number and the usage of the sessions below a session.
func (c *conversation) subagents(ctx context.Context, id string) (n int, u inspect.Usage, err error) {
	list, err := c.m.Store.Sessions(ctx, store.Query{ParentID: id, Archived: true, Limit: cli.MaxSessions})
	if err = c.a.WithoutDamage(err); err != nil {
		return 0, u, err
	}
	for i := range list {
		below, more, err := c.subagents(ctx, list[i].ID)
		if err != nil {
			return 0, u, err
		}
		n += 1 + below
		u.Add(0, list[i].Tokens, list[i].Cost)
		u.Add(0, more.Tokens, more.Cost)
	}
	return n, u, nil
}

// fullness shows the share of the model's context that the latest request used.
func (c *conversation) fullness(ctx context.Context) error {
	messages, err := c.messages(ctx)
	if err != nil {
		return err
	}
	for i := len(messages) - 1; i >= 0; i-- {
		m, ok := messages[i].Info.(*sdk.AssistantMessage)
		if !ok || m.Summary || m.Tokens.Sum() == 0 {
			continue
		}
		for _, info := range c.m.Models(ctx) {
			if limit := info.Model.Limit.Context; limit > 0 && info.Model.ProviderID == m.ProviderID && info.Model.ID == m.ModelID {
				c.notify(fmt.Sprintf("context: %s of %s tokens used (%d %%); /compact frees some", view.Count(m.Tokens.Sum()), view.Count(limit), m.Tokens.Sum()*100/limit))
			}
		}
		break
	}
	return nil
}

// hooks shows the hook calls of the last turn, or lists all hooks.
func (c *conversation) hooks(ctx context.Context, args string) error {
	switch args {
	case "":
	case "list":
		return inspect.ListHooks(c.a, c.m.Hooks())
	default:
		return cli.UsageError(`the only argument is "list", which lists all hooks`, "unknown argument %q", args)
	}
	if err := c.needSession(ctx); err != nil {
		return err
	}
	messages, err := c.messages(ctx)
	if err != nil {
		return err
	}
	list, err := frontend.Local{Machine: c.m}.Ledger(ctx, c.session.ID)
	if err != nil {
		return err
	}
	last := map[string]bool{}
	for i := len(messages) - 1; i >= 0; i-- {
		last[messages[i].Info.Head().ID] = true
		if messages[i].Info.Role() == sdk.RoleUser && view.TypedText(messages[i].Parts) != "" {
			break
		}
	}
	screen := c.a.Screen.ForStdout()
	var b strings.Builder
	for i := range list {
		if last[list[i].MessageID] {
			inspect.ExplainRequest(screen, &b, &list[i])
		}
	}
	if b.Len() == 0 {
		c.notify("no hook was called in the last turn; /hooks list lists all hooks, tenon explain shows the whole session")
		return nil
	}
	return c.a.Print(b.String())
}

// permissions lists the permanent permissions of this project, or revokes one.
func (c *conversation) permissions(ctx context.Context, args string) error {
	project := c.m.Workspace.ApprovalProject()
	if id, ok := strings.CutPrefix(args, "forget "); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
		if err != nil || n < 1 {
			return cli.UsageError("/permissions lists the IDs", "invalid ID %q", id)
		}
		_, err = c.m.Store.Forget(ctx, project, n)
		if errors.Is(err, store.ErrNotFound) {
			return cli.UsageError("/permissions lists them", "%w", err)
		}
		if err == nil {
			c.notify("revoked; tenon asks again from now on")
		}
		return err
	}
	if args != "" {
		return cli.UsageError("/permissions forget ID revokes a permission", "unknown argument %q", args)
	}
	list, err := c.m.Store.Approvals(ctx, project)
	if err != nil {
		return err
	}
	if err := manage.ListApprovals(c.a, list); err != nil || len(list) == 0 {
		return err
	}
	c.notify("/permissions forget ID revokes one; tenon permission explain shows which rule decides")
	return nil
}
