package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [command or topic]", Short: "Show help for a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := findCommand(cmd.Root(), args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// findCommand returns the command or topic whose name consists of the arguments.
func findCommand(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, rest, err := root.Find(args)
	if err == nil && len(rest) > 0 {
		err = cli.UnknownCommand(cmd, rest[0])
	}
	return cmd, err
}

// manual describes the commands, and contains the help pages that belong to no command. (The page "config" is the help
// of that command.)
//
//go:embed help/commands.txt
var manual string

// printPages returns the work of "tenon man".
func printPages(a *cli.App, dir *string) cli.Work {
	return func(cmd *cobra.Command, args []string) error {
		about, err := findCommand(cmd.Root(), args)
		if err != nil {
			return err
		}
		if *dir == "" {
			return a.Print(manPage(about))
		}
		err = os.MkdirAll(*dir, 0o755)
		visit(about, func(c *cobra.Command) {
			if err == nil {
				err = os.WriteFile(filepath.Join(*dir, manName(c)+".1"), []byte(manPage(c)), 0o644)
			}
		})
		if err != nil {
			return cli.UsageError("pass a directory that you can write", "write manual pages: %w", err)
		}
		return nil
	}
}

// manName is the name of a command's page, such as tenon-session-list.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command in the macros of man(7).
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", strings.ToUpper(manName(cmd)), roff(manName(cmd)), roff(cmd.Short))
	for _, text := range []string{cmd.Long, cmd.UsageString()} {
		if text != "" {
			b.WriteString(".nf\n" + roff(strings.TrimRight(text, "\n")) + "\n.fi\n.PP\n")
		}
	}
	return b.String()
}

// roffEscapes escapes characters that have a special meaning or look in roff.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff escapes text.
func roff(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+roffEscapes.Replace(text), "\n.", "\n\\&."), "\n")
}
