package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

func manCommand(a *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "man [command]", Short: "Print the manual page of tenon or of a command", Args: cobra.ArbitraryArgs,
		Example: "  tenon man | man -l -\n  tenon man session list | man -l -\n  tenon man --output ~/.local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := findCommand(cmd.Root(), args)
			if err != nil {
				return err
			}
			if dir == "" {
				return a.Print(manPage(about))
			}
			if err := writeManPages(dir, about); err != nil {
				return cli.UsageError("pass a directory that you can write", "write manual pages: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write the pages of the command and its subcommands to this `directory`, created if missing")
	return cmd
}

// writeManPages writes the pages of a command and its subcommands to a directory, and creates the directory.
func writeManPages(dir string, cmd *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := writeManPages(dir, sub); err != nil {
			return err
		}
	}
	return nil
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
			b.WriteString(verbatim(text) + ".PP\n")
		}
	}
	return b.String()
}

// verbatim returns roff for text that keeps its line breaks and indentation.
func verbatim(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = roff(line)
	}
	return ".nf\n" + strings.Join(lines, "\n") + "\n.fi\n"
}

// roffEscapes escapes characters that have a special meaning or look in roff.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff escapes a line of text.
func roff(line string) string {
	line = roffEscapes.Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
