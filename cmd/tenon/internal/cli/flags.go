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
	flags.StringVar(&a.Flags.logLevel, "log-level", "", "log to stderr from this level on: debug, info, warn or error (default warn)")
	flags.StringVar(&a.Flags.dir, "dir", "", "work in this directory")
	flags.StringVar(&a.Flags.DataDir, "data-dir", "", "keep sessions here (default $TENON_DATA_DIR, else the user's data directory)")
	flags.StringVar(&a.Flags.config, "config", "", "read one more configuration file, after the project's")
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

// Group makes a command one that only holds others: alone it shows its help, and what it does not know is
// an error that names what was meant.
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

// Args checks how many arguments a command gets.
func Args(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s needs %s", cmd.CommandPath(), what)
		case most >= 0 && len(args) > most:
			return UsageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s does not take the argument %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}

// FormatFlag adds the flag that selects the output format.
func (a *App) FormatFlag(cmd *cobra.Command) {
	format := cmd.Flags().String("format", "text", "output format: text or json")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if a.JSON = *format == "json"; !a.JSON && *format != "text" {
			return UsageError("use text or json", "unknown format %q", *format)
		}
		return nil
	}
}
