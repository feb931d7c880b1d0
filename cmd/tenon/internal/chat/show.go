package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// listedSessions is how many sessions /sessions lists.
const listedSessions = 20

func storeFrom(message string) store.Page { return store.Page{From: message} }

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
		t.Add("/"+terminal.OneLine(configured[i].Name), terminal.OneLine(configured[i].Description))
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	if _, edits := c.source.(*editSource); !edits {
		return nil
	}
	return c.a.Print(`
Enter sends. Alt-Enter, Ctrl-J, or "\" before Enter begin a line; """ begins and ends a text of several lines.
Tab completes commands, @files, models and agents. Up and Down bring older prompts back, Ctrl-R searches them.
Ctrl-C interrupts a turn and clears a line, Ctrl-Z goes to the shell, Ctrl-D leaves.
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
		return cli.UsageError("/help lists the commands", "there is no command %q", "/"+name)
	}
	info := &configured[i]
	text := "/" + terminal.OneLine(info.Name) + "\n"
	if info.Description != "" {
		text += "  " + terminal.OneLine(info.Description) + "\n"
	}
	return c.a.Print(text + "  from " + inspect.Source(info.Plugin, info.Origin) + "\n")
}

// sessions lists the sessions of the project, or goes on with the one that is named by its number in the list, or by the
// beginning of its id.
func (c *conversation) sessions(ctx context.Context, args string) error {
	list, err := c.projectSessions(ctx)
	if err != nil {
		return err
	}
	if args != "" {
		return c.switchTo(ctx, list, args)
	}
	if len(list) == 0 {
		c.tell("there are no sessions here yet")
		return nil
	}
	t := &view.Table{}
	for i := range list {
		mark := ""
		if c.session != nil && list[i].ID == c.session.ID {
			mark = "*"
		}
		t.Add(mark, strconv.Itoa(i+1), list[i].ID, view.Ago(list[i].Updated, time.Now()), view.Money(list[i].Cost), terminal.OneLine(list[i].Title))
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	c.tell("/sessions NUMBER, or the beginning of an id, goes on with one")
	return nil
}

func (c *conversation) projectSessions(ctx context.Context) ([]store.Listed, error) {
	q := store.Query{Limit: listedSessions}
	q.ProjectID, q.Directory = c.m.Workspace.Scope()
	list, err := c.m.Store.List(ctx, q)
	return list, c.a.WithoutDamage(err)
}

func (c *conversation) switchTo(ctx context.Context, list []store.Listed, name string) error {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(list) {
			return cli.UsageError("/sessions lists them", "there is no session number %d", n)
		}
		name = list[n-1].ID
	}
	s, err := cli.FindSession(ctx, c.m.Store, name)
	if err != nil {
		return err
	}
	c.session, c.model, c.agent, c.fallback = s, "", "", "" // it has its own
	if s.Directory != c.m.Workspace.Project.Directory {
		c.tell(fmt.Sprintf("note: the session was started in %s; this conversation works in %s", s.Directory, c.m.Workspace.Project.Directory))
	}
	return c.recall(ctx)
}

func (c *conversation) sessionIDs(ctx context.Context) []string {
	list, err := c.projectSessions(ctx)
	if err != nil {
		return nil // the command will say so
	}
	var out []string
	for i := range list {
		out = append(out, list[i].ID)
	}
	return out
}

// chooseModel shows the models, or takes one: by its name, or by a part that only one has.
func (c *conversation) chooseModel(ctx context.Context, args string) error {
	if args == "" {
		if err := inspect.ListModels(ctx, c.a, c.m, ""); err != nil {
			return err
		}
		if name := c.modelName(); name != "" {
			c.tell(name + " answers; /model NAME chooses another")
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
		return cli.UsageError("write more of the name", "several models have %q in their names: %s", args, strings.Join(matches, ", "))
	case full && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, provider+"/") }):
		c.model = args // providers may have models that they do not list
	default:
		return cli.Fail(cli.ExitModel, fmt.Errorf("there is no model %q", args), "/model lists the models that can be used")
	}
	c.tell(c.model + " answers from now on")
	return nil
}

func (c *conversation) modelNames(ctx context.Context) []string {
	var out []string
	for _, info := range c.m.Models(ctx) {
		out = append(out, info.Model.Ref().String())
	}
	return out
}

// chooseAgent shows the agents, or takes one.
func (c *conversation) chooseAgent(ctx context.Context, args string) error {
	if args != "" {
		if !slices.Contains(c.agentNames(ctx), args) {
			return cli.UsageError("/agent lists them", "there is no agent %q that can answer", args)
		}
		c.agent = args
		c.tell(args + " answers from now on")
		return nil
	}
	now := c.agentName()
	if now == "" {
		now = sdk.AgentBuild
	}
	t := &view.Table{}
	for _, agent := range c.m.Agents() {
		if !answers(&agent) {
			continue
		}
		mark := ""
		if agent.Name == now {
			mark = "*"
		}
		t.Add(mark, terminal.OneLine(agent.Name), terminal.OneLine(agent.Description))
	}
	if err := c.a.PrintTable(t); err != nil {
		return err
	}
	c.tell("/agent NAME chooses another; @NAME in a prompt asks a subagent")
	return nil
}

// answers reports whether an agent can answer users.
func answers(a *sdk.Agent) bool { return a.Mode != sdk.ModeSubagent && !a.Hidden }

func (c *conversation) agentNames(context.Context) []string {
	var out []string
	for _, agent := range c.m.Agents() {
		if answers(&agent) {
			out = append(out, agent.Name)
		}
	}
	return out
}

// cost shows what the session and its subagents took, and how full the model's context is.
func (c *conversation) cost(ctx context.Context, _ string) error {
	if err := c.needSession(ctx); err != nil {
		return err
	}
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

// subagents adds up the sessions below one.
func (c *conversation) subagents(ctx context.Context, id string) (n int, u inspect.Usage, err error) {
	q := store.Query{ParentID: id, Archived: true, Limit: inspect.CensusPage}
	for {
		list, err := c.m.Store.Sessions(ctx, q)
		if err = c.a.WithoutDamage(err); err != nil || len(list) == 0 {
			return n, u, err
		}
		for i := range list {
			below, more, err := c.subagents(ctx, list[i].ID)
			if err != nil {
				return n, u, err
			}
			n += 1 + below
			u.Add(0, list[i].Tokens, list[i].Cost)
			u.Add(0, more.Tokens, more.Cost)
		}
		q.Before = &list[len(list)-1]
	}
}

// fullness says how much of the model's context the latest request took.
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
				c.tell(fmt.Sprintf("the context holds %s of %s tokens, %d %%; /compact makes room", view.Count(m.Tokens.Sum()), view.Count(limit), m.Tokens.Sum()*100/limit))
			}
		}
		break
	}
	return nil
}

// hooks shows what hooks did on the way to the answer of the last prompt, or which hooks there are.
func (c *conversation) hooks(ctx context.Context, args string) error {
	switch args {
	case "":
	case "list":
		return inspect.ListHooks(c.a, c.m.Hooks(), "")
	default:
		return cli.UsageError(`the argument is "list": the hooks that there are`, "%q is unknown", args)
	}
	if err := c.needSession(ctx); err != nil {
		return err
	}
	messages, err := c.messages(ctx)
	if err != nil {
		return err
	}
	list, _, err := inspect.ReadLedger(ctx, c.m.Store, c.session.ID, c.a.WithoutDamage)
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
		c.tell("no hook was called in the last turn; /hooks list shows which there are, tenon explain the whole session")
		return nil
	}
	return c.a.Print(b.String())
}

// permissions lists what was allowed for good in this project, or takes one of it back.
func (c *conversation) permissions(ctx context.Context, args string) error {
	project := c.m.Workspace.ApprovalProject()
	if id, ok := strings.CutPrefix(args, "forget "); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
		if err != nil || n < 1 {
			return cli.UsageError("/permissions lists the identifiers", "%q is no identifier of an approval", id)
		}
		_, err = c.m.Store.Forget(ctx, project, n)
		if errors.Is(err, store.ErrNotFound) {
			return cli.UsageError("/permissions lists what there is", "%w", err)
		}
		if err == nil {
			c.tell("taken back; it is asked for again")
		}
		return err
	}
	if args != "" {
		return cli.UsageError("/permissions forget ID takes back what was allowed", "%q is unknown", args)
	}
	list, err := c.m.Store.Approvals(ctx, project)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.tell(`nothing was allowed for good here; the answer "always" to a question does`)
		return nil
	}
	if err := c.a.PrintTable(manage.ApprovalTable(list)); err != nil {
		return err
	}
	c.tell("/permissions forget ID takes one back; tenon permission explain says which rule decides")
	return nil
}
