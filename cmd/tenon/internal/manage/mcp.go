package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

func mcpCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Manage MCP servers",
		Long: `MCP servers are configured under "mcp" in tenon.json, in mcp.json in your configuration directory (maintained by
tenon mcp add), in the project's .mcp.json, and by plugins. A project's servers run only after you approve them with
tenon mcp trust NAME.`,
	}
	cli.Group(cmd)
	cmd.AddCommand(mcpAddCommand(a), mcpListCommand(a), mcpGetCommand(a), mcpRemoveCommand(a), mcpSwitchCommand(a, "enable", true),
		mcpSwitchCommand(a, "disable", false), mcpTrustCommand(a), mcpLockCommand(a), mcpSearchCommand(a), mcpToolsCommand(a), mcpCallCommand(a), mcpLogsCommand(a),
		mcpLoginCommand(a), mcpLogoutCommand(a), mcpStatusCommand(a))
	return cmd
}

// mcpAdd holds the flags of "tenon mcp add".
type mcpAdd struct {
	env, headers     []string
	transport        string
	timeout          time.Duration
	project, noProbe bool
}

func mcpAddCommand(a *cli.App) *cobra.Command {
	var f mcpAdd
	cmd := &cobra.Command{
		Use: "add NAME [flags] -- COMMAND [ARG…] | add NAME URL", Short: "Add an MCP server",
		Long: `Add an MCP server: a command that starts it, or its URL. tenon starts the server once to check that it works, and approves
the tools it then offers.`,
		Example: `  tenon mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  tenon mcp add docs https://example.com/mcp --header "Authorization=Bearer $TOKEN"`,
		Args: cli.Args(2, -1, "a name, and a command or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("timeout") && f.timeout < time.Millisecond {
				return cli.UsageError("write a time such as 30s", "--timeout %s: want at least 1ms", f.timeout)
			}
			entry, err := f.entry(args[1:])
			if err != nil {
				return err
			}
			return a.OnConfig(func(ctx context.Context, w *cli.Workspace, args []string) error {
				return addServer(ctx, w, &f, args[0], entry)
			})(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.env, "env", "e", nil, "set an environment variable of the server, as `NAME=VALUE`; ${NAME} is replaced by your own variable; may be repeated")
	flags.StringArrayVar(&f.headers, "header", nil, "send an HTTP header, as `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.transport, "transport", "", "`transport` of a URL: http (default) or sse")
	flags.DurationVar(&f.timeout, "timeout", 0, "time for the start and for each request; default 30s")
	flags.BoolVar(&f.project, "project", false, "write to the project's .mcp.json instead of your own configuration")
	flags.BoolVar(&f.noProbe, "no-probe", false, "do not start the server now")
	flags.SetInterspersed(true)
	return cmd
}

func (f *mcpAdd) entry(args []string) (*mcpEntry, error) {
	e := &mcpEntry{Timeout: f.timeout.Milliseconds()}
	var err error
	if strings.Contains(args[0], "://") {
		e.Type, e.URL = cmp.Or(f.transport, "http"), args[0]
		if len(args) > 1 || len(f.env) > 0 {
			return nil, cli.UsageError("omit them", "a server with a URL takes no arguments and no --env")
		}
		e.Headers, err = pairs("--header", f.headers)
		return e, err
	}
	if len(f.headers) > 0 || f.transport != "" {
		return nil, cli.UsageError("omit them", "a server with a command takes no --header and no --transport")
	}
	e.Command, e.Args = args[0], args[1:]
	e.Env, err = pairs("--env", f.env)
	return e, err
}

func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, pair := range list {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, cli.UsageError("write "+flag+" NAME=VALUE", "%s %q has no value", flag, pair)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

func addServer(ctx context.Context, w *cli.Workspace, f *mcpAdd, name string, entry *mcpEntry) error {
	a := w.App
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if err := lockServers(ctx, w, func() error { return writeServer(ctx, w, f.project, name, raw) }); err != nil {
		return err
	}
	a.Say("added %s to %s", name, serverFile(w, f.project))
	if f.noProbe {
		return nil
	}
	return withServer(ctx, a, name, func(_ context.Context, s *extensions.Set, c *extensions.Candidate) error {
		a.Say("%s; waiting up to %s for an answer", terminal.OneLine(strings.Join(c.Lines, " ")), c.Server.Limit())
		warning, err := s.Approve(ctx, c, nil) // adding a server approves it
		if err != nil {
			return err
		}
		if warning != nil {
			return cli.Fail(cli.ExitTurn, warning, fmt.Sprintf("the server was added but does not work: run tenon mcp logs %s to see its output, then edit %s, or remove it with tenon mcp remove %s", Argument(c), serverFile(w, f.project), Argument(c)))
		}
		return printTools(ctx, a, s, c)
	})
}

// writeServer adds a server to a file.
func writeServer(ctx context.Context, w *cli.Workspace, project bool, name string, entry json.RawMessage) error {
	file, err := readMCPFile(w, project)
	if err != nil {
		return err
	}
	if _, taken := file.servers[name]; taken {
		return cli.UsageError("choose another name, or remove it first: tenon mcp remove "+name, "%s already has a server %q", file.path, name)
	}
	if err := unique(ctx, w.App, name); err != nil {
		return err
	}
	if err := checkServer(name, entry, "the new server", "tenon mcp add --help shows examples"); err != nil {
		return err
	}
	return file.write(config.Set(file.text, serverKey(name), entry))
}

// unique returns an error if a server of any scope has the name, or a name that would lead to the same names of tools.
func unique(ctx context.Context, a *cli.App, name string) error {
	return a.WithExtensions(ctx, nil, func(_ *cli.Workspace, s *extensions.Set) error {
		plugin := (&mcp.Server{Name: name}).PluginName()
		for _, c := range s.Candidates {
			if c.Server != nil && c.Server.PluginName() == plugin {
				return cli.UsageError("choose another name", "the name %q is too similar to server %q in %s", name, c.Name, c.From)
			}
		}
		return nil
	})
}

// serverFile returns the file to add servers to.
func serverFile(w *cli.Workspace, project bool) string {
	if project {
		return filepath.Join(w.Project.Worktree, extensions.ProjectServerFile)
	}
	return filepath.Join(w.Project.ConfigDir, extensions.ServerFile)
}

// checkServer returns an error if an entry of a file is invalid.
func checkServer(name string, entry json.RawMessage, file, fix string) error {
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: entry}})
	if err != nil {
		return err
	}
	if _, _, err := mcp.ReadConfig(data, file, func(string) (string, bool) { return "", true }); err != nil {
		return cli.UsageError(fix, "%w", err)
	}
	return nil
}

// serverFunc is the work of a command with an MCP server.
type serverFunc func(context.Context, *extensions.Set, *extensions.Candidate) error

// withServer runs f with a configured server.
func withServer(ctx context.Context, a *cli.App, name string, f serverFunc) error {
	return a.WithExtensions(ctx, nil, func(_ *cli.Workspace, s *extensions.Set) error {
		c, err := server(a, s, name)
		if err != nil {
			return err
		}
		return f(ctx, s, c)
	})
}

// server returns a configured server. If there is none, it prints the warnings, which say why an entry is ignored.
func server(a *cli.App, s *extensions.Set, name string) (*extensions.Candidate, error) {
	c, ok := s.Server(name)
	if !ok {
		warn(a, s)
		return nil, cli.UsageError("tenon mcp list shows the servers", "MCP server %q not found", name)
	}
	return c, nil
}

// approved returns f for approved servers only.
func approved(f serverFunc) serverFunc {
	return func(ctx context.Context, s *extensions.Set, c *extensions.Candidate) error {
		if c.State != plugins.StateReady {
			fix := why(c)
			if c.Server != nil && c.Server.Disabled {
				fix = "enable it in " + c.From
			}
			return cli.Fail(cli.ExitRefused, fmt.Errorf("server %q is not running: %s", c.Name, c.State), fix)
		}
		return f(ctx, s, c)
	}
}

// serverCommand returns a command that runs f with the server that its argument names.
func serverCommand(a *cli.App, name, short string, f serverFunc) *cobra.Command {
	return &cobra.Command{
		Use: name + " NAME", Short: short,
		RunE: func(cmd *cobra.Command, args []string) error { return withServer(cmd.Context(), a, args[0], f) },
	}
}

func mcpToolsCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(serverCommand(a, "tools", "List the tools of an MCP server", approved(func(ctx context.Context, s *extensions.Set, c *extensions.Candidate) error {
		return printTools(ctx, a, s, c)
	})))
}

func printTools(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate) error {
	offered, err := s.Offered(ctx, c)
	if err != nil {
		return cli.Fail(cli.ExitTurn, err, "tenon mcp logs "+c.Name+" shows its output")
	}
	if a.JSON {
		return a.PrintJSON(offered)
	}
	differences, _, err := s.Differences(c, offered)
	if err != nil {
		return err
	}
	tools, unusable, err := s.Available(c, offered)
	if err != nil {
		return err
	}
	t := &view.Table{}
	for _, tool := range tools {
		t.Add(tool.Name, view.Clip(terminal.OneLine(tool.Description), 100))
	}
	if err := a.PrintTable(t); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(unusable)) {
		a.Say("tool %s is withheld: %s", name, unusable[name])
	}
	for _, d := range differences {
		a.Say("%s", d.String())
	}
	if len(differences) > 0 {
		a.Say("tools that differ from the approved ones are withheld; approve them with tenon mcp trust %s", c.Name)
	}
	return nil
}

func mcpCallCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "call NAME TOOL [ARGUMENTS]", Short: "Call a tool of an MCP server, with a JSON object of arguments",
		Example: `  tenon mcp call files read_text_file '{"path": "README.md"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := json.RawMessage("{}")
			if len(args) == 3 {
				arguments = json.RawMessage(args[2])
			}
			var object map[string]json.RawMessage
			if err := json.Unmarshal(arguments, &object); err != nil {
				return cli.UsageError(`write an object, such as '{"path": "README.md"}'`, "arguments: %w", err)
			}
			return withServer(cmd.Context(), a, args[0], approved(func(ctx context.Context, s *extensions.Set, c *extensions.Candidate) error {
				return callServer(ctx, a, s, c, args[1], arguments)
			}))
		},
	})
}

func callServer(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate, tool string, args json.RawMessage) error {
	result, err := s.Call(ctx, c, tool, args)
	if _, ok := errors.AsType[*sdk.Refusal](err); ok {
		return cli.Fail(cli.ExitRefused, err, "an administrator's file takes precedence; see docs/permissions.md")
	}
	if err != nil {
		return cli.Fail(cli.ExitTurn, err, "tenon mcp tools "+c.Name+" lists its tools, tenon mcp logs "+c.Name+" shows its output")
	}
	return a.Show(result, func() error {
		text := strings.TrimRight(result.Output, "\n") + "\n"
		if a.Screen.Streams { // otherwise the output is unchanged
			text = terminal.Visible(text)
		}
		return a.Print(text)
	})
}

func mcpLogsCommand(a *cli.App) *cobra.Command {
	return serverCommand(a, "logs", "Print the log of an MCP server", func(_ context.Context, s *extensions.Set, c *extensions.Candidate) error {
		return printLog(a, s.LogPath(c), c.Name)
	})
}

// printLog prints a server's log, the older file first.
func printLog(a *cli.App, path, name string) error {
	var text strings.Builder
	for _, file := range []string{path + ".1", path} {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text.Write(content)
	}
	if text.Len() == 0 {
		a.Say("server %s has not logged anything yet", name)
		return nil
	}
	return a.Print(terminal.Visible(text.String()))
}
