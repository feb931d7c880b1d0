package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Add, list, try and remove MCP servers",
		Long: `MCP servers come from mcp in tenon.json, from mcp.json in your configuration directory (which tenon mcp add keeps), from the
project's .mcp.json and from plugins. Those of a project run only after you approved them: tenon plugin trust NAME.`,
	}
	group(cmd)
	cmd.AddCommand(a.mcpAddCommand(), a.mcpListCommand(), a.mcpRemoveCommand(), a.mcpToolsCommand(), a.mcpCallCommand(), a.mcpLogsCommand())
	return cmd
}

// mcpAdd is a server as "tenon mcp add" gets it.
type mcpAdd struct {
	env, headers     []string
	transport        string
	project, noProbe bool
}

func (a *app) mcpAddCommand() *cobra.Command {
	var f mcpAdd
	cmd := &cobra.Command{
		Use: "add NAME [flags] -- COMMAND [ARG…] | add NAME URL", Short: "Add an MCP server",
		Long: `Add an MCP server: one that is started with a command, or one at an address. It is started once, to see that it works and
what it offers; what it offers then counts as approved.`,
		Example: `  tenon mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  tenon mcp add docs https://example.com/mcp --header "Authorization=Bearer $TOKEN"`,
		Args: arguments(2, -1, "a name, and a command or an address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addServer(cmd.Context(), &f, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.env, "env", "e", nil, "NAME=VALUE in the server's environment; ${NAME} stands for a variable of yours; may be repeated")
	flags.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE of an HTTP header; may be repeated")
	flags.StringVar(&f.transport, "transport", "", "of an address: http (default) or sse")
	flags.BoolVar(&f.project, "project", false, "write it to the project's .mcp.json instead of your own configuration")
	flags.BoolVar(&f.noProbe, "no-probe", false, "do not start it now")
	flags.SetInterspersed(true)
	return cmd
}

func (f *mcpAdd) entry(args []string) (*mcpEntry, error) {
	e := &mcpEntry{}
	var err error
	if strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://") {
		e.Type, e.URL = "http", args[0]
		if f.transport != "" {
			e.Type = f.transport
		}
		if len(args) > 1 || len(f.env) > 0 {
			return nil, usageError("leave them out", "a server at an address takes no arguments and no --env")
		}
		e.Headers, err = pairs("--header", f.headers)
		return e, err
	}
	if len(f.headers) > 0 || f.transport != "" {
		return nil, usageError("leave them out", "a server that is started with a command takes no --header and no --transport")
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
			return nil, usageError("write "+flag+" NAME=VALUE", "%s %q has no value", flag, pair)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

func (a *app) addServer(ctx context.Context, f *mcpAdd, name string, args []string) error {
	entry, err := f.entry(args)
	if err != nil {
		return err
	}
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	file, err := readMCPFile(w.serverFile(f.project))
	if err != nil {
		return err
	}
	if _, taken := file.servers[name]; taken {
		return usageError("choose another name, or remove it first: tenon mcp remove "+name, "%s has a server %q already", file.path, name)
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file.servers[name] = raw
	if err := w.checkServer(name, raw); err != nil {
		return err
	}
	if err := file.write(); err != nil {
		return err
	}
	a.screen.line(fmt.Sprintf("added %s to %s", visible(name), file.path))
	if f.noProbe {
		return nil
	}
	return a.withServer(ctx, name, func(s *extensions.Set, c *extensions.Candidate) error {
		warning, err := s.Approve(ctx, c, nil) // who adds a server approves it
		if err != nil {
			return err
		}
		if warning != nil {
			return fail(exitTurn, warning, fmt.Sprintf("it is added, but does not work yet: correct the command, or tenon mcp remove %s; tenon mcp logs %s shows what it printed", name, name))
		}
		return a.printTools(ctx, s, c, "text")
	})
}

// serverFile is the file that servers are added to.
func (w *workspace) serverFile(project bool) string {
	if project {
		return filepath.Join(w.project.Worktree, extensions.ProjectServerFile)
	}
	return filepath.Join(w.dirs.config, extensions.ServerFile)
}

// checkServer checks an entry as it will be read.
func (w *workspace) checkServer(name string, entry json.RawMessage) error {
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: entry}})
	if err != nil {
		return err
	}
	if _, _, err := mcp.ReadConfig(data, "the new server", func(string) (string, bool) { return "", true }); err != nil {
		return usageError("tenon mcp add --help shows examples", "%w", err)
	}
	return nil
}

// withServer runs f with a server that is configured.
func (a *app) withServer(ctx context.Context, name string, f func(*extensions.Set, *extensions.Candidate) error) error {
	return a.withExtensions(ctx, nil, func(_ *workspace, s *extensions.Set) error {
		c, ok := s.Server(name)
		if !ok {
			return usageError("tenon mcp list shows the servers", "there is no MCP server %q", name)
		}
		return f(s, c)
	})
}

// approvedServer runs f with a server that may run.
func (a *app) approvedServer(ctx context.Context, name string, f func(*extensions.Set, *extensions.Candidate) error) error {
	return a.withServer(ctx, name, func(s *extensions.Set, c *extensions.Candidate) error {
		if c.State != plugins.StateReady {
			return fail(exitRefused, fmt.Errorf("the server %q does not run: it is %s", name, c.State), why(c))
		}
		return f(s, c)
	})
}

func (a *app) mcpListCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the MCP servers",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withExtensions(cmd.Context(), nil, func(_ *workspace, s *extensions.Set) error { return a.listServers(s, form) })
		},
	}
	format(cmd, &form)
	return cmd
}

// listedServer is a server in the JSON listing.
type listedServer struct {
	Name    string        `json:"name"`
	State   plugins.State `json:"state"`
	Starts  string        `json:"starts"` // the command or the address
	From    string        `json:"from"`
	Project bool          `json:"project"`
	Why     string        `json:"why,omitempty"`
}

func (a *app) listServers(s *extensions.Set, form string) error {
	list := []listedServer{}
	for _, c := range s.Candidates {
		if c.Config() != nil || c.Kind == "mcp" {
			list = append(list, listedServer{c.Name, c.State, strings.Join(c.Lines(), " "), c.From, c.Project, why(c)})
		}
	}
	if form == "json" {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.screen.line("there is no MCP server; tenon mcp add adds one")
		return nil
	}
	t := &table{}
	t.add("name", "state", "", "from", "")
	for _, l := range list {
		t.add(oneLine(l.Name), string(l.State), oneLine(l.Starts), oneLine(l.From), oneLine(l.Why))
	}
	return a.writeTable(t)
}

func (a *app) mcpRemoveCommand() *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a server that tenon mcp add added",
		Args: arguments(1, 1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.removeServer(cmd.Context(), args[0], project) },
	}
	cmd.Flags().BoolVar(&project, "project", false, "from the project's .mcp.json")
	return cmd
}

func (a *app) removeServer(ctx context.Context, name string, project bool) error {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	file, err := readMCPFile(w.serverFile(project))
	if err != nil {
		return err
	}
	if _, there := file.servers[name]; !there {
		return usageError("tenon mcp list shows where each server comes from; take it out of that file", "there is no server %q in %s", name, file.path)
	}
	delete(file.servers, name)
	if err := file.write(); err != nil {
		return err
	}
	a.screen.line(fmt.Sprintf("removed %s from %s", visible(name), file.path))
	return nil
}

func (a *app) mcpToolsCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "tools NAME", Short: "Start a server and list its tools",
		Args: arguments(1, 1, "the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.approvedServer(cmd.Context(), args[0], func(s *extensions.Set, c *extensions.Candidate) error {
				return a.printTools(cmd.Context(), s, c, form)
			})
		},
	}
	format(cmd, &form)
	return cmd
}

func (a *app) printTools(ctx context.Context, s *extensions.Set, c *extensions.Candidate, form string) error {
	offered, err := s.Offered(ctx, c)
	if err != nil {
		return fail(exitTurn, err, "tenon mcp logs "+c.Name+" shows what it printed")
	}
	if form == "json" {
		return a.writeJSON(offered)
	}
	differences, _, err := s.Differences(c, offered)
	if err != nil {
		return err
	}
	t := &table{}
	for _, tool := range offered.Tools {
		t.add(oneLine(tool.Name), clip(oneLine(tool.Description), 100))
	}
	if err := a.writeTable(t); err != nil {
		return err
	}
	for _, d := range differences {
		a.screen.line(visible(d.String()))
	}
	if len(differences) > 0 {
		a.screen.line("what differs from what was approved is withheld; approve it with tenon plugin trust " + visible(c.Name))
	}
	return nil
}

func (a *app) mcpCallCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "call NAME TOOL [ARGUMENTS]", Short: "Start a server and call one of its tools, with arguments as a JSON object",
		Example: `  tenon mcp call files read_text_file '{"path": "README.md"}'`,
		Args:    arguments(2, 3, "the names of a server and a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := json.RawMessage("{}")
			if len(args) == 3 {
				arguments = json.RawMessage(args[2])
			}
			var object map[string]json.RawMessage
			if err := json.Unmarshal(arguments, &object); err != nil {
				return usageError(`write an object, such as '{"path": "README.md"}'`, "arguments: %w", err)
			}
			return a.approvedServer(cmd.Context(), args[0], func(s *extensions.Set, c *extensions.Candidate) error {
				return a.callServer(cmd.Context(), s, c, args[1], arguments, form)
			})
		},
	}
	format(cmd, &form)
	return cmd
}

func (a *app) callServer(ctx context.Context, s *extensions.Set, c *extensions.Candidate, tool string, args json.RawMessage, form string) error {
	result, err := s.Call(ctx, c, tool, args)
	var refusal *sdk.Refusal
	if errors.As(err, &refusal) {
		return fail(exitRefused, err, "an administrator's file has the last word: docs/permissions.md")
	}
	if err != nil {
		return fail(exitTurn, err, "tenon mcp tools "+c.Name+" lists its tools, tenon mcp logs "+c.Name+" shows what it printed")
	}
	if form == "json" {
		return a.writeJSON(result)
	}
	return a.write(strings.TrimRight(result.Output, "\n") + "\n")
}

func (a *app) mcpLogsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logs NAME", Short: "Print what a server logged",
		Args: arguments(1, 1, "the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withServer(cmd.Context(), args[0], func(s *extensions.Set, c *extensions.Candidate) error {
				return a.printLog(s.LogPath(c), c.Name)
			})
		},
	}
}

// printLog prints a server's log, the older half first.
func (a *app) printLog(path, name string) error {
	var text strings.Builder
	for _, file := range []string{path + ".1", path} {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text.Write(content)
	}
	if text.Len() == 0 {
		a.screen.line("the server " + visible(name) + " has logged nothing yet")
		return nil
	}
	return a.write(visible(text.String()))
}
