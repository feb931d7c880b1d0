package manage

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// Commands returns the commands for plugins, MCP servers and permissions. approveRules is called to approve the rules in the
// project's files; installers are further commands for plugins.
func Commands(a *cli.App, approveRules func(ctx context.Context, yes bool) error, installers []*cobra.Command) []*cobra.Command {
	plugin := pluginCommand(a)
	plugin.AddCommand(installers...)
	return []*cobra.Command{plugin, mcpCommand(a), permissionCommand(a, approveRules), importRootCommand(a)}
}
