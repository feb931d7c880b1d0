package manage

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// Commands returns the commands for plugins, MCP servers and permissions. approveRules is called to approve the rules in the
// project's files.
func Commands(a *cli.App, approveRules func(ctx context.Context, yes bool) error) []*cobra.Command {
	return []*cobra.Command{pluginCommand(a), mcpCommand(a), authCommand(a), permissionCommand(a, approveRules), importRootCommand(a)}
}
