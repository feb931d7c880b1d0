package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp"
)

// mcpAdd holds the flags of "tenon mcp add".
type mcpAdd struct {
	env, headers     []string
	transport        string
	timeout          time.Duration
	project, noProbe bool
}

func (f *mcpAdd) flags() cli.Flags {
	return cli.Flags{
		"env": &f.env, "header": &f.headers, "transport": &f.transport, "timeout": &f.timeout, "project": &f.project, "no-probe": &f.noProbe,
	}
}

// mcpEntry is a server in .mcp.json.
type mcpEntry struct {
	Type    string            `json:"type,omitempty"` // empty: stdio
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout int64             `json:"timeout,omitempty"` // milliseconds
}

// entry returns the entry of the flags and of a command or URL.
func (f *mcpAdd) entry(args []string) (json.RawMessage, error) {
	e := &mcpEntry{}
	if f.timeout < time.Millisecond {
		return nil, cli.UsageError("write a time such as 30s", "--timeout %s: want at least 1ms", f.timeout)
	}
	if f.timeout != mcp.DefaultTimeout {
		e.Timeout = f.timeout.Milliseconds()
	}
	var err error
	if strings.Contains(args[0], "://") {
		if len(args) > 1 || len(f.env) > 0 {
			return nil, cli.UsageError("omit them", "a server with a URL takes no arguments and no --env")
		}
		e.Type, e.URL = cmp.Or(f.transport, "http"), args[0]
		e.Headers, err = pairs("--header", "=:", f.headers)
	} else {
		if len(f.headers) > 0 || f.transport != "" {
			return nil, cli.UsageError("omit them", "a server with a command takes no --header and no --transport")
		}
		e.Command, e.Args = args[0], args[1:]
		e.Env, err = pairs("--env", "=", f.env)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// reference matches tenon.json's notations for a variable and a file.
var reference = lazyregexp.New(`\{env:[A-Z_][A-Z0-9_]*\}|\{file:[~./][^}]*\}`)

// pairs parses the values of a flag. Values of variables are not changed.
func pairs(flag, separators string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range list {
		at := strings.IndexAny(pair, separators)
		if at < 1 || strings.Contains(pair[:at], " ") {
			return nil, cli.UsageError("write "+flag+" NAME=VALUE, without spaces around NAME", "%s %q has no name or no value", flag, pair)
		}
		if reference().MatchString(pair) {
			return nil, cli.UsageError("write '${NAME}', in single quotes, which is replaced by your variable; {env:NAME} and {file:PATH} work in tenon.json only", "%s %q: the server would receive this text", flag, pair)
		}
		out[pair[:at]] = pair[at+1:]
		if flag == "--header" {
			out[pair[:at]] = strings.TrimSpace(pair[at+1:])
		}
	}
	return out, nil
}

func (g *group) addServer(ctx context.Context, w *cli.Workspace, args []string) error {
	name, path := args[0], serverFile(w, g.server.project)
	entry, err := g.server.entry(args[1:])
	if err == nil {
		err = lockFiles(ctx, w, func() error { return g.writeServer(ctx, w, name, entry) })
	}
	if err != nil {
		return err
	}
	g.Say("added %s to %s", name, path)
	if g.server.noProbe {
		return nil
	}
	return g.withServer(ctx, name, func(s *extensions.Set, c *extensions.Candidate) error {
		g.Say("%s; waiting up to %s for an answer", terminal.OneLine(strings.Join(c.Lines, "; ")), c.Server.Limit())
		_, warning, err := s.Approve(ctx, c, nil) // adding a server approves it
		if err != nil {
			return err
		}
		if warning != nil {
			return cli.Fail(cli.ExitTurn, warning, fmt.Sprintf("the server was added but does not work: %s; or edit %s, or remove it with tenon mcp remove %s", s.Remedy(c), path, c.Argument()))
		}
		return g.printTools(ctx, s, c, nil)
	})
}

// writeServer adds a server to a file.
func (g *group) writeServer(ctx context.Context, w *cli.Workspace, name string, entry json.RawMessage) error {
	file, err := readMCPFile(w, g.server.project)
	if err != nil {
		return err
	}
	if _, taken := file.servers[name]; taken {
		return cli.UsageError("choose another name, or remove it first: tenon mcp remove "+visible.Word(name), "%s already has a server %q", file.path, name)
	}
	if err := g.unique(ctx, name); err != nil {
		return err
	}
	text, err := config.Set(file.text, serverKey(name), entry)
	if problem := checkServer(name, text, file.path, "tenon mcp add --help shows examples"); err == nil && problem != nil {
		return problem
	}
	return file.write(text, err)
}

// unique returns an error if a server of any scope has the name, or a name that would result in the same tool names.
func (g *group) unique(ctx context.Context, name string) error {
	return g.WithExtensions(ctx, nil, func(_ *cli.Workspace, s *extensions.Set) error {
		plugin := (&mcp.Server{Name: name}).PluginName()
		for _, c := range s.Candidates {
			if c.Server != nil && c.Server.PluginName() == plugin {
				return cli.UsageError("choose another name", "the name %q is too similar to server %q in %s", name, c.Name, c.From)
			}
		}
		return nil
	})
}

// checkServer returns an error if the server with the name in a file with this text is invalid.
func checkServer(name string, text []byte, path, fix string) error {
	servers, _, err := mcp.ReadConfig(text, path, func(string) (string, bool) { return "", true })
	if err != nil && !slices.ContainsFunc(servers, func(s mcp.Server) bool { return s.Name == name }) {
		return cli.UsageError(fix, "%w", err)
	}
	return nil
}

func (g *group) removeServer(ctx context.Context, w *cli.Workspace, args []string) error {
	name, path := args[0], ""
	before, failed := w.Extensions(ctx, nil, false)
	err := changeServer(ctx, w, name, g.server.project, func(file *mcpFile) error {
		path = file.path
		return file.write(config.Remove(file.text, serverKey(name)))
	})
	if err == nil {
		g.Say("removed %s from %s", name, path)
	}
	if failed == nil {
		if err == nil {
			failed = g.forgetToken(ctx, before, name, path)
		}
		failed = errors.Join(failed, before.Discard(ctx))
	}
	if err == nil && failed != nil {
		g.Log.Warn("a token of the removed server may still be stored", "server", name, "err", failed)
	}
	return err
}

// forgetToken signs out of a server that was removed from a file: no command finds its token afterwards, unless another server uses
// it.
func (g *group) forgetToken(ctx context.Context, before *extensions.Set, name, path string) error {
	i := slices.IndexFunc(before.Candidates, func(c *extensions.Candidate) bool { return c.Server != nil && c.Name == name && c.From == path })
	if i < 0 {
		return nil
	}
	if users, err := before.Sharing(before.Candidates[i]); err != nil || len(users) > 0 {
		return err
	}
	err := before.Logout(ctx, before.Candidates[i])
	if errors.Is(err, credentials.ErrNotFound) {
		return nil
	}
	if err == nil {
		g.Say("signed out of %s", name)
	}
	return err
}

// switching returns the work that enables or disables a server.
func (g *group) switching(enabled bool) cli.Work {
	return g.OnConfig(func(ctx context.Context, w *cli.Workspace, args []string) error {
		return g.switchServer(ctx, w, args[0], enabled)
	})
}

// switchServer enables or disables a server: the user's in the file, a project's in the approvals.
func (g *group) switchServer(ctx context.Context, w *cli.Workspace, name string, enabled bool) error {
	own := false
	err := changeServer(ctx, w, name, false, func(file *mcpFile) error {
		if own = !file.project; !own {
			return nil
		}
		key := checked.Join(serverKey(name), "disabled")
		text, err := config.Remove(file.text, key)
		if err == nil && !enabled {
			text, err = config.Set(text, key, json.RawMessage("true"))
		}
		if problem := checkServer(name, text, file.path, "correct the entry in the file"); err == nil && problem != nil && enabled {
			return problem
		}
		if err := file.write(text, err); err != nil {
			return err
		}
		g.Say("%s %s in %s", switched(enabled), name, file.path)
		return nil
	})
	if own {
		return err
	}
	return g.withServer(ctx, name, func(s *extensions.Set, c *extensions.Candidate) error {
		if !c.Project {
			return cli.UsageError(fmt.Sprintf(`set "enabled": %v for it there; in your own tenon.json: tenon config set %s %v`, enabled, visible.Word(checked.Join("mcp", c.Name)+".enabled"), enabled), "server %q is configured in %s", name, c.From)
		}
		return g.setEnabled(ctx, s, name, enabled)
	})
}

// lockTimeout is the maximum wait for another process that changes files of servers.
const lockTimeout = 30 * time.Second

// lockFiles runs f while no other process changes files of servers.
func lockFiles(ctx context.Context, w *cli.Workspace, f func() error) error {
	return filelock.Do(ctx, filepath.Join(w.Project.DataDir, "mcp", "files.lock"), lockTimeout, f)
}

// changeServer runs f with the file that contains a server: the user's or else the project's, with project only the project's.
func changeServer(ctx context.Context, w *cli.Workspace, name string, project bool, f func(file *mcpFile) error) error {
	return lockFiles(ctx, w, func() error {
		var paths []string
		for _, inProject := range []bool{false, true} {
			if project && !inProject {
				continue
			}
			file, err := readMCPFile(w, inProject)
			if err != nil {
				return err
			}
			if _, there := file.servers[name]; there {
				return f(file)
			}
			paths = append(paths, file.path)
		}
		return cli.UsageError("tenon mcp list shows where each server is configured", "server %q not found in %s", name, strings.Join(paths, " and "))
	})
}

// mcpFile is a file of servers. Changes keep its layout and other content.
type mcpFile struct {
	w       *cli.Workspace
	path    string
	project bool   // the project's, else the user's
	text    []byte // with an object mcpServers
	servers map[string]json.RawMessage
}

// serverKey returns the key of a server in the file.
func serverKey(name string) string { return checked.Join("mcpServers", name) }

// serverFile returns the file to add servers to.
func serverFile(w *cli.Workspace, project bool) string {
	if project {
		return filepath.Join(w.Project.Worktree, extensions.ProjectServerFile)
	}
	return filepath.Join(w.Project.ConfigDir, extensions.ServerFile)
}

// readMCPFile reads the file. A missing file is empty.
func readMCPFile(w *cli.Workspace, project bool) (*mcpFile, error) {
	path := serverFile(w, project)
	text, err := projectfs.ForProject(w.Project).Read(path, extensions.MaxServerFile)
	var file, servers map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if raw, ok := file["mcpServers"]; ok && err == nil {
		err = json.Unmarshal(raw, &servers)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", path, cli.Cause(err)), "correct the file, whose mcpServers must contain one object per server, or delete it; tenon did not change it")
	}
	if servers == nil {
		if text, err = config.Set(text, "mcpServers", json.RawMessage("{}")); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return &mcpFile{w, path, project, text, servers}, nil
}

// write replaces the file with the result of a change.
func (f *mcpFile) write(text []byte, err error) error {
	if err != nil {
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", f.path, err), "fix the file by hand; tenon did not change it")
	}
	return f.w.WriteFile(f.path, text, !f.project) // headers and variables of the user may be tokens
}
