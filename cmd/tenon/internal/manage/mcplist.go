package manage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
)

func mcpListCommand(a *cli.App) *cobra.Command {
	var check bool
	cmd := a.FormatFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List MCP servers, their approval and their last start",
		RunE: a.OnExtensions(func(ctx context.Context, s *extensions.Set, _ []string) error { return listServers(ctx, a, s, check) }),
	})
	cmd.Flags().BoolVar(&check, "check", false, "start each approved server now; fails if one does not work")
	return cmd
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

func listServers(ctx context.Context, a *cli.App, s *extensions.Set, check bool) error {
	if check {
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
	warn(a, s)
	err := cli.List(a, list, cli.Listing[listedServer]{
		Empty: "no MCP servers; tenon mcp add adds one",
		Head:  []string{"name", "approved", "works", "runs", "from", ""},
		Row: func(l *listedServer) []string {
			return []string{l.Name, l.approved(), l.works(), l.Starts, l.From, l.Why}
		},
	})
	if err == nil && check && len(broken) > 0 {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("not every MCP server works: %s", strings.Join(broken, ", ")), "tenon mcp get NAME shows the error, tenon mcp logs NAME its output")
	}
	return err
}

func listServer(s *extensions.Set, c *extensions.Candidate) listedServer {
	l := listedServer{
		Name: c.Name, State: c.State, Approved: c.State == plugins.StateReady, Starts: strings.TrimPrefix(strings.Join(c.Lines, " "), "starts "), From: c.From,
		Project: c.Project, Why: why(c),
	}
	if c.Server != nil {
		l.Check = s.LastCheck(c)
	}
	if l.Approved && l.Check != nil && l.Check.Error != "" {
		l.State = stateFailed
	}
	return l
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
		return fmt.Sprintf("no (%s): %s", when, view.Clip(terminal.OneLine(l.Check.Error), 100))
	}
	return fmt.Sprintf("yes (%s), %s", when, view.Plural(l.Check.Tools, "tool"))
}

func mcpGetCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(serverCommand(a, "get", "Show an MCP server: its configuration, approval and last start", func(_ context.Context, s *extensions.Set, c *extensions.Candidate) error {
		l := listServer(s, c)
		return a.Show(l, func() error {
			lines := [][2]string{{"approved", l.approved()}, {"works", l.works()}, {"why", l.Why}}
			if l.Check != nil {
				lines = append(lines, [2]string{"error", l.Check.Error})
			}
			text := strings.TrimRight(s.Text(c), "\n") + "\n"
			for _, line := range lines {
				if line[1] != "" {
					text += fmt.Sprintf("  %-14s %s\n", line[0], terminal.Visible(line[1]))
				}
			}
			return a.Print(text)
		})
	}))
}
