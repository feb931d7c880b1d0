package manage

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/plugins"
)

func mcpTrustCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "trust [NAME…]", Short: "Approve the project's MCP servers and their current tools",
		Long: `Show MCP servers, and approve them with the tools they offer now. Without a name, approve all pending servers of the project.

--yes skips the question, for example in CI. If the project has a ` + extensions.ServerLock + `, a server that differs from it is an
error, even with --yes.`,
		Example: "  tenon mcp trust --yes && tenon run --auto \"review this change\"",
		RunE: a.OnExtensions(func(ctx context.Context, s *extensions.Set, names []string) error {
			return trustServers(ctx, a, s, names, yes)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func trustServers(ctx context.Context, a *cli.App, s *extensions.Set, names []string, yes bool) error {
	if len(names) == 0 {
		for _, c := range s.Candidates {
			if c.Server != nil && (c.State == plugins.StatePending || c.State == plugins.StateReady && c.Project) {
				names = append(names, c.Name)
			}
		}
	}
	if len(names) == 0 {
		a.Say("no MCP server needs approval")
	}
	var problems []error
	for _, name := range names {
		c, err := server(a, s, name)
		if err == nil {
			err = decidable([]*extensions.Candidate{c})
		}
		if err == nil {
			err = Approve(ctx, a, s, c, yes, nil)
		}
		problems = append(problems, err)
	}
	return cli.Join(problems...)
}

// locked adds the remedy to an error about a server that differs from the project's lock.
func locked(err error) error {
	if errors.Is(err, extensions.ErrLocked) {
		return cli.Fail(cli.ExitRefused, err, "compare it with the commit that changed "+extensions.ServerLock+"; if the change is right, write the lock again: tenon mcp lock")
	}
	return err
}

func mcpLockCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "lock", Short: "Pin the project's approved MCP servers in " + extensions.ServerLock,
		Long: `Start the project's approved MCP servers, and write hashes of their configuration and of their tools to ` + extensions.ServerLock + `.
Commit this file. It approves nothing: tenon mcp trust and tenon plugin trust refuse a server that differs from it.`,
		RunE: a.OnExtensions(func(ctx context.Context, s *extensions.Set, _ []string) error {
			names, err := s.WriteLock(ctx)
			if err != nil {
				return cli.Fail(cli.ExitTurn, err, "a server must work to be pinned; tenon mcp list --check shows which do")
			}
			if len(names) == 0 {
				a.Say("no approved MCP server of the project; earlier pins are kept; approve servers with tenon mcp trust")
				return nil
			}
			a.Say("pinned in %s: %s", extensions.ServerLock, terminal.OneLine(strings.Join(names, ", ")))
			return nil
		}),
	}
}
