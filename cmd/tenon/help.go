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

// commandGroups are the groups of commands in the help of tenon. A command in no group is listed last, as an additional command.
var commandGroups = []struct {
	title, id string
	commands  []string
}{
	{"Work:", "work", []string{"run", "chat", "tui", "models"}},
	{"Sessions:", "sessions", []string{"session", "explain", "stats"}},
	{"Extend:", "extend", []string{"plugin", "mcp", "hooks", "agent", "command", "skill"}},
	{"Configure:", "configure", []string{"auth", "config", "permission", "import"}},
	{"Diagnose:", "diagnose", []string{"doctor", "version", "man"}},
}

// group puts the commands of root into their groups.
func group(root *cobra.Command) {
	root.SetHelpCommand(helpCommand())
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
				cmd.GroupID = g.id
			}
		}
	}
	root.SetHelpCommandGroupID("diagnose")
	root.SetCompletionCommandGroupID("diagnose")
}

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

var (
	//go:embed help/exit-codes.txt
	exitCodesTopic string
	//go:embed help/environment.txt
	environmentTopic string
	//go:embed help/permissions.txt
	permissionsTopic string
)

// topics returns the help pages that belong to no command. (The page "config" is the help of that command.)
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "List the exit codes", Long: exitCodesTopic},
		{Use: "environment", Short: "List the environment variables", Long: environmentTopic},
		{Use: "permissions", Short: "Explain permission rules", Long: permissionsTopic},
	}
}

func manCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "man [command]", Short: "Print the manual page of tenon or of a command", Args: cobra.ArbitraryArgs,
		Example: "  tenon man | man -l -\n  tenon man session list | man -l -\n  tenon man --output ~/.local/share/man/man1",
	}
	dir := cmd.Flags().StringP("output", "o", "", "write the pages of the command and its subcommands to this `directory`, created if missing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
	return cmd
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
