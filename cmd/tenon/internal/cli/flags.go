package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

type globalFlags struct {
	logLevel, dir, DataDir, config string
}

// GlobalFlags adds the flags of all commands.
func (a *App) GlobalFlags(root *cobra.Command) {
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkFlags() }
	flags := root.PersistentFlags()
	flags.StringVar(&a.Flags.logLevel, "log-level", "", "minimum `level` of log messages on stderr: debug, info, warn or error (default warn)")
	flags.StringVar(&a.Flags.dir, "dir", "", "work in this `directory` (default: the current one)")
	flags.StringVar(&a.Flags.DataDir, "data-dir", "", "store sessions in this `directory` (default: $TENON_DATA_DIR, or the user's data directory)")
	flags.StringVar(&a.Flags.config, "config", "", "also read this configuration `file`; it overrides the project's")
}

func (a *App) checkFlags() error {
	if a.Flags.logLevel != "" {
		level, err := parseLevel(a.Flags.logLevel)
		if err != nil {
			return err
		}
		a.Level.Set(level)
	}
	return nil
}

// Group makes a command a group of subcommands. Alone it prints its help; an unknown subcommand is an error with a
// suggestion.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		fix := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			fix = fmt.Sprintf("did you mean %s? %s", strings.Join(near, " or "), fix)
		}
		if cmd.Parent() == nil {
			fix += `; a prompt needs tenon run "…"`
		}
		return UsageError(fix, "unknown command %q for %s", args[0], cmd.CommandPath())
	}
	cmd.SuggestionsMinimumDistance = 2
}

// Args checks the number of arguments of a command; a negative max means no limit. what describes the missing ones.
func Args(min, max int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return UsageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s needs %s", cmd.CommandPath(), what)
		case max >= 0 && len(args) > max:
			return UsageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s: unexpected argument %q", cmd.CommandPath(), args[max])
		}
		return nil
	}
}

// FormatFlag adds the flag that selects the output format, and returns the command.
func (a *App) FormatFlag(cmd *cobra.Command) *cobra.Command {
	format := cmd.Flags().String("format", "text", "output format: text or json")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if a.JSON = *format == "json"; !a.JSON && *format != "text" {
			return UsageError("use text or json", "unknown format %q", *format)
		}
		return nil
	}
	return cmd
}
