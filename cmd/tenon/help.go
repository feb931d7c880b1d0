package main

import (
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

// topics returns the help pages that belong to no command. (The page "config" is the help of that command.)
func topics() []*cobra.Command {
	var codes strings.Builder
	codes.WriteString("Exit codes of tenon:\n\n")
	for _, c := range cli.ExitCodes() {
		fmt.Fprintf(&codes, "  %3d  %s\n", c.Code, c.Meaning)
	}
	return []*cobra.Command{
		{Use: "exit-codes", Short: "List the exit codes", Long: codes.String()},
		{Use: "environment", Short: "List the environment variables", Long: environmentTopic},
		{Use: "permissions", Short: "Explain permission rules", Long: permissionsTopic},
	}
}

const environmentTopic = `Environment variables that tenon reads. Flags take precedence over them.

  TENON_MODEL, TENON_SMALL_MODEL   provider/model, as model and small_model in tenon.json
  TENON_PERMISSION                 permission rules as JSON, as permission in tenon.json
  TENON_CONFIG                     path of another configuration file; it overrides the project's
  TENON_CONFIG_CONTENT             another configuration, as JSON; it overrides TENON_CONFIG
  TENON_WITHOUT_PLUGINS            comma-separated names of plugins to disable for one run
  TENON_DATA_DIR                   directory of sessions, credentials and caches
  TENON_LOG_LEVEL                  debug, info, warn or error
  XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                                   parent directories of tenon's files; default ~/.config, ~/.local/share, ~/.cache

  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, …
                                   keys of providers; tenon models --all lists each provider with its variable
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL, …
                                   addresses of providers
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                                   proxies for requests to providers and servers

  VISUAL, EDITOR                   editor of tenon config edit
  NO_COLOR                         any value turns colors off
  TERM                             dumb or unset: no colors and no moving output
  COLORTERM                        truecolor: the terminal UI uses more than 256 colors

{env:NAME} in a configuration file inserts any other variable. The model's commands do not receive variables that hold keys.
`

const permissionsTopic = `Before each tool call, tenon applies permission rules. A rule in tenon.json has a permission, a pattern and an action:

  {
    "permission": {
      "edit": "ask",
      "bash": {"*": "ask", "git status*": "allow", "go test *": "allow", "rm *": "deny"},
      "webfetch": {"https://go.dev/*": "allow"}
    }
  }

The last matching rule decides; if no rule matches, tenon asks. Without a terminal, tenon refuses instead of asking.
--auto allows everything that no rule denies.

  tenon permission explain 'bash git push'        show which rule decides
  tenon permission test 'bash "git push *" deny'  show which recorded calls a rule would change
  tenon permission list                           list permanent permissions
  tenon permission approve                        approve the rules in this project's files
  tenon permission sandbox                        show the paths that the model's commands can reach
`

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
