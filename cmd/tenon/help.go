package main

import (
	"fmt"
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
		ValidArgsFunction: completeCommands,
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

// completeCommands completes the names of commands and topics.
func completeCommands(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	parent, err := findCommand(cmd.Root(), args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, c := range parent.Commands() {
		if !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
			out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
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
