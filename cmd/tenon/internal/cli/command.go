package cli

import "github.com/spf13/cobra"

// WithFlags adds flags of another command to a command, and returns it. Several commands may share a flag and its variable, since only one
// command runs.
func WithFlags(cmd, from *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		cmd.Flags().AddFlag(from.Flags().Lookup(name))
	}
	return cmd
}
