package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/trust"
)

func mcpRemoveCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove an MCP server that was added with tenon mcp add",
		RunE: a.OnConfig(func(ctx context.Context, w *cli.Workspace, args []string) error {
			return removeServer(ctx, w, args[0], project)
		}),
	}
	cmd.Flags().BoolVar(&project, "project", false, "remove it from the project's .mcp.json, not from your own configuration")
	return cmd
}

// lockTimeout is the maximum wait for another process that changes files of servers.
const lockTimeout = 30 * time.Second

// lockServers runs f while no other process changes files of servers.
func lockServers(ctx context.Context, w *cli.Workspace, f func() error) error {
	return filelock.Do(ctx, filepath.Join(w.Project.DataDir, "mcp", "files.lock"), lockTimeout, f)
}

// changeServer runs f with the file that contains a server: the user's, or else the project's. With project, only the latter.
func changeServer(ctx context.Context, w *cli.Workspace, name string, project bool, f func(file *mcpFile) error) error {
	return lockServers(ctx, w, func() error {
		file, err := findServer(w, name, project)
		if err != nil {
			return err
		}
		return f(file)
	})
}

func findServer(w *cli.Workspace, name string, project bool) (*mcpFile, error) {
	for _, inProject := range []bool{false, true} {
		if project && !inProject {
			continue
		}
		file, err := readMCPFile(w, inProject)
		if err != nil {
			return nil, err
		}
		if _, there := file.servers[name]; there {
			return file, nil
		}
	}
	where := serverFile(w, false) + " and " + serverFile(w, true)
	if project {
		where = serverFile(w, true)
	}
	return nil, cli.UsageError("tenon mcp list shows where each server is configured", "server %q not found in %s", name, where)
}

func removeServer(ctx context.Context, w *cli.Workspace, name string, project bool) error {
	a := w.App
	return changeServer(ctx, w, name, project, func(file *mcpFile) (err error) {
		before, failed := w.Extensions(ctx, nil, false)
		if failed == nil {
			defer func() { err = errors.Join(err, before.Discard(ctx)) }()
		}
		if err := file.write(config.Remove(file.text, serverKey(name))); err != nil {
			return err
		}
		a.Say("removed %s from %s", name, file.path)
		if failed == nil {
			failed = forget(ctx, a, before, name, file.path)
		}
		if failed != nil {
			a.Log.Warn("a token of the removed server may still be stored", "server", name, "err", failed)
		}
		return nil
	})
}

// forget signs out of a server that was removed from a file: no command finds its token afterwards, unless another server uses it.
func forget(ctx context.Context, a *cli.App, before *extensions.Set, name, path string) error {
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
		a.Say("signed out of %s", name)
	}
	return err
}

func mcpSwitchCommand(a *cli.App, verb string, enabled bool) *cobra.Command {
	short := "Enable a disabled MCP server"
	if !enabled {
		short = "Disable an MCP server, keeping its configuration"
	}
	return &cobra.Command{
		Use: verb + " NAME", Short: short,
		Long: short + `.

For a server in your own mcp.json, this changes that file. For a project's server, it changes only your approval; the
project's file stays the same.`,
		RunE: a.OnConfig(func(ctx context.Context, w *cli.Workspace, args []string) error {
			return switchServer(ctx, w, args[0], verb, enabled)
		}),
	}
}

func switchServer(ctx context.Context, w *cli.Workspace, name, verb string, enabled bool) error {
	a, done := w.App, verb+"d"
	inOwn := false
	err := changeServer(ctx, w, name, false, func(file *mcpFile) error {
		if inOwn = !file.project; !inOwn {
			return nil
		}
		if enabled {
			if err := checkServer(name, file.servers[name], file.path, "correct the entry in the file"); err != nil {
				return err
			}
		}
		key := checked.Join(serverKey(name), "disabled")
		text, err := config.Remove(file.text, key)
		if err == nil && !enabled {
			text, err = config.Set(text, key, json.RawMessage("true"))
		}
		if err := file.write(text, err); err != nil {
			return err
		}
		a.Say("%s %s in %s", done, name, file.path)
		return nil
	})
	if inOwn {
		return err
	}
	return withServer(ctx, a, name, func(_ context.Context, s *extensions.Set, c *extensions.Candidate) error {
		if !c.Project {
			return cli.UsageError(fmt.Sprintf(`set "enabled": %v for it there`, enabled), "server %q is configured in %s", name, c.From)
		}
		reason := ""
		if !enabled {
			reason = "disabled by you"
		}
		err := s.SetEnabled(ctx, name, enabled, reason)
		if errors.Is(err, trust.ErrNotFound) {
			return cli.UsageError("a server of a project that is not approved does not run", "server %q is not approved", name)
		}
		return reportDecision(a, err, name, done)
	})
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

// readMCPFile reads the file. A missing file is empty.
func readMCPFile(w *cli.Workspace, project bool) (*mcpFile, error) {
	path := serverFile(w, project)
	content, err := projectfs.ForProject(w.Project).Read(path, extensions.MaxServerFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		content = []byte("{}\n")
	case err != nil:
		return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", path, cli.Cause(err)), "correct the file or delete it")
	}
	var file, servers map[string]json.RawMessage
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: not valid JSON: %w", path, err), "fix the file by hand; tenon did not change it")
	}
	if raw, ok := file["mcpServers"]; ok {
		if err := json.Unmarshal(raw, &servers); err != nil {
			return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: mcpServers: %w", path, err), "mcpServers must hold one object per server")
		}
	}
	if file == nil { // null
		content = []byte("{}\n")
	}
	if servers == nil {
		if content, err = config.Set(content, "mcpServers", json.RawMessage("{}")); err != nil {
			return nil, err
		}
	}
	return &mcpFile{w, path, project, content, servers}, nil
}

// write replaces the file with the result of a change.
func (f *mcpFile) write(text []byte, err error) error {
	if err != nil {
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", f.path, err), "fix the file by hand; tenon did not change it")
	}
	return f.w.WriteFile(f.path, text, !f.project) // headers and variables of the user may be tokens
}
