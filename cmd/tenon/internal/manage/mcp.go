package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// serverFunc is the work of a command with an MCP server. args are the arguments after its name.
type serverFunc func(ctx context.Context, s *extensions.Set, c *extensions.Candidate, args []string) error

// onServer returns work with the configured server that the first argument names.
func (g *group) onServer(f serverFunc) cli.Work {
	return func(cmd *cobra.Command, args []string) error {
		return g.withServer(cmd.Context(), args[0], func(s *extensions.Set, c *extensions.Candidate) error {
			return f(cmd.Context(), s, c, args[1:])
		})
	}
}

// withServer runs f with a configured server.
func (g *group) withServer(ctx context.Context, name string, f func(*extensions.Set, *extensions.Candidate) error) error {
	return g.WithExtensions(ctx, nil, func(_ *cli.Workspace, s *extensions.Set) error {
		c, err := g.findServer(s, name)
		if err != nil {
			return err
		}
		return f(s, c)
	})
}

// findServer returns a configured server. If it finds none, it prints the warnings, which contain the reasons for
// ignored entries.
func (g *group) findServer(s *extensions.Set, name string) (*extensions.Candidate, error) {
	c := s.Server(name)
	if c == nil {
		g.warn(s)
		fix := "tenon mcp list shows the servers"
		if len(s.Warnings) > 0 {
			fix = "correct what the warnings name; " + fix
		}
		return nil, cli.UsageError(fix, "MCP server %q not found", name)
	}
	return c, nil
}

// approved returns f for approved servers only.
func approved(f serverFunc) serverFunc {
	return func(ctx context.Context, s *extensions.Set, c *extensions.Candidate, args []string) error {
		if c.State != plugins.StateReady {
			fix := why(c)
			if c.Server.Disabled {
				fix = "enable it in " + c.From
			}
			return cli.Fail(cli.ExitRefused, fmt.Errorf("server %q is not running: %s", c.Name, c.State), fix)
		}
		return f(ctx, s, c, args)
	}
}

// stateFailed is the state of an approved server whose last start failed.
const stateFailed plugins.State = "failed"

// listedServer is a server in the list.
type listedServer struct {
	Name     string        `json:"name"`
	State    plugins.State `json:"state"` // or stateFailed
	Approved bool          `json:"approved"`
	Check    *mcp.Check    `json:"check,omitempty"` // the last start; nil: never started
	Starts   string        `json:"starts"`          // the command or the address
	From     string        `json:"from"`
	Project  bool          `json:"project"`
	Why      string        `json:"why,omitempty"`
}

func (g *group) listServers(ctx context.Context, s *extensions.Set, _ []string) error {
	if g.check {
		s.CheckServers(ctx)
	}
	var list []listedServer
	var broken []string
	for _, c := range s.Candidates {
		if c.Kind != trust.KindServer {
			continue
		}
		l := listServer(s, c)
		list = append(list, l)
		if l.State == stateFailed {
			broken = append(broken, c.Name)
		}
	}
	g.warn(s)
	head := []string{"name", "approved", "works", "runs", "from", ""}
	err := cli.List(g.App, list, "no MCP servers; tenon mcp add adds one", head, func(l *listedServer) []string {
		return []string{l.Name, l.approved(), view.Clip(terminal.OneLine(l.works()), 120), l.Starts, l.From, l.Why}
	})
	if err == nil && g.check && len(broken) > 0 {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("not every MCP server works: %s", strings.Join(broken, ", ")), "tenon mcp get NAME shows the error and the remedy")
	}
	return err
}

func listServer(s *extensions.Set, c *extensions.Candidate) listedServer {
	l := listedServer{
		Name: c.Name, Approved: c.State == plugins.StateReady, Starts: strings.TrimPrefix(strings.Join(c.Lines, "; "), "starts "), From: c.From, Project: c.Project,
	}
	l.State, l.Why, l.Check = standing(s, c)
	return l
}

// standing returns the state of a candidate with its reason. For a server whose last check failed, the state is stateFailed; the check is
// returned, too.
func standing(s *extensions.Set, c *extensions.Candidate) (state plugins.State, reason string, last *mcp.Check) {
	if c.Server != nil {
		last = s.LastCheck(c)
	}
	if c.State == plugins.StateReady && last != nil && last.Error != "" {
		return stateFailed, s.Remedy(c), last
	}
	return c.State, why(c), last
}

// approved returns whether runs may start the server.
func (l *listedServer) approved() string {
	switch {
	case l.Approved:
		return "yes"
	case l.State == plugins.StatePending:
		return "no"
	}
	return string(l.State)
}

// works describes the last start of the server.
func (l *listedServer) works() string {
	if l.Check == nil {
		return "not started yet"
	}
	when := view.Ago(l.Check.At.UnixMilli(), time.Now())
	if l.Check.Error != "" {
		return fmt.Sprintf("no (%s): %s", when, l.Check.Error)
	}
	return fmt.Sprintf("yes (%s), %s", when, view.Offered(l.Check.Tools, l.Check.Withheld, visible.Word(l.Name)))
}

func (g *group) showServer(_ context.Context, s *extensions.Set, c *extensions.Candidate, _ []string) error {
	l := listServer(s, c)
	return g.Show(l, func() error {
		lines := [][2]string{{"may run", l.approved()}, {"works", l.works()}, {"note", l.Why}}
		text := strings.TrimRight(s.Text(c), "\n") + "\n"
		for _, line := range lines {
			if line[1] != "" {
				text += fmt.Sprintf("  %-14s %s\n", line[0], terminal.Visible(line[1]))
			}
		}
		return g.Print(text)
	})
}

func (g *group) trustServers(ctx context.Context, s *extensions.Set, names []string) error {
	if len(names) == 0 {
		for _, c := range s.Candidates {
			if c.Server != nil && (c.State == plugins.StatePending || c.State == plugins.StateReady && c.Project) {
				names = append(names, c.Name)
			}
		}
	}
	if len(names) == 0 {
		g.Say("no MCP server needs approval")
	}
	var problems []error
	for _, name := range names {
		c, err := g.findServer(s, name)
		if err == nil {
			err = Approve(ctx, g.App, s, c, g.yes, nil)
		}
		problems = append(problems, err)
	}
	return cli.Join(problems...)
}

func (g *group) pinServers(ctx context.Context, s *extensions.Set, _ []string) error {
	names, err := s.WriteLock(ctx)
	if err != nil {
		return cli.Fail(cli.ExitTurn, err, "a server must work to be pinned; tenon mcp list --check shows which do")
	}
	if len(names) == 0 {
		g.Say("the project has no approved MCP server; earlier pins are kept; approve servers with tenon mcp trust")
		return nil
	}
	g.Say("pinned in %s: %s", extensions.ServerLock, terminal.OneLine(strings.Join(names, ", ")))
	return nil
}

func (g *group) printTools(ctx context.Context, s *extensions.Set, c *extensions.Candidate, _ []string) error {
	offer, err := s.Compare(ctx, c)
	if err != nil {
		return cli.Fail(cli.ExitTurn, err, s.Remedy(c))
	}
	if g.JSON {
		return g.PrintJSON(offer.Definition)
	}
	t := &view.Table{}
	for _, tool := range offer.Tools {
		t.Add(tool.Name, view.Clip(terminal.OneLine(tool.Description), 100))
	}
	if err := g.PrintTable(t); err != nil {
		return err
	}
	if len(offer.Tools)+len(offer.Withheld) == 0 {
		g.Say("%s offers no tools", c.Name)
	}
	for _, w := range offer.Withheld {
		g.Say("%s", w)
	}
	if offer.Differs {
		g.Say("tools that differ from the approved ones are withheld; approve them with tenon mcp trust %s", c.Argument())
	}
	return nil
}

func (g *group) callTool(ctx context.Context, s *extensions.Set, c *extensions.Candidate, args []string) error {
	arguments := json.RawMessage("{}")
	if len(args) == 2 {
		arguments = json.RawMessage(args[1])
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil {
		return cli.UsageError(`write an object, such as '{"path": "README.md"}'`, "arguments: %w", err)
	}
	result, err := s.Call(ctx, c, args[0], arguments)
	if _, ok := errors.AsType[*sdk.Refusal](err); ok {
		return cli.Fail(cli.ExitRefused, err, "an administrator's file takes precedence; see tenon docs permissions")
	}
	if err != nil {
		return cli.Fail(cli.ExitTurn, err, "tenon mcp tools "+c.Argument()+" shows whether it works, and its tools; tenon mcp logs "+c.Argument()+" shows its output")
	}
	return g.Show(result, func() error {
		for _, file := range result.Attachments {
			g.Say("%s (%s) is part of the result; --format json prints it", file.Filename, file.Mime)
		}
		if text := strings.TrimRight(result.Output, "\n"); text != "" {
			return g.PrintContent(text + "\n")
		}
		return nil
	})
}

// printLog prints a server's log, the older file first.
func (g *group) printLog(_ context.Context, s *extensions.Set, c *extensions.Candidate, _ []string) error {
	var text strings.Builder
	for _, suffix := range []string{".1", ""} {
		content, err := os.ReadFile(s.LogPath(c) + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text.Write(content)
	}
	if text.Len() == 0 {
		g.Say("server %s has not logged anything yet", c.Name)
		return nil
	}
	return g.Print(terminal.Visible(text.String()))
}
