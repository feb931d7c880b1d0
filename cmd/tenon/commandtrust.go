package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// projectFile returns the file of the repository that an origin names, or "". An origin is an absolute path, or one relative to ~ or to the
// working directory.
func projectFile(w *cli.Workspace, origin string) string {
	path := origin
	if rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator)); ok {
		path = filepath.Join(w.Project.Home, rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(w.Project.Directory, filepath.FromSlash(path))
	}
	if w.Loaded.ProjectFiles[path] != "" {
		return path
	}
	if strings.EqualFold(filepath.Ext(path), ".md") && projectfs.Inside(w.Project.Worktree, path) && !projectfs.Inside(w.Project.ConfigDir, path) {
		return path
	}
	return ""
}

// trustCommand returns the origin of a command. See permission.Policy. A command that is in the configuration but in none of its files (a
// plugin's hook can add it) counts as the repository's.
func (p *projectRules) trustCommand(c *sdk.Command) permission.Trust {
	path, known := p.commandFile(c)
	return permission.Trust{Repository: path != "" || !known, Approved: path != "" && p.isApproved(path, c.Digest)}
}

// commandFile returns the project file that defines a command, or "". known is false if the origin of the command is unknown.
func (p *projectRules) commandFile(c *sdk.Command) (path string, known bool) {
	if c.Origin != sdk.OriginConfiguration {
		return projectFile(p.w, c.Origin), true
	}
	o, known := p.w.Loaded.Origins["command."+c.Name+".template"]
	return projectFile(p.w, o.Source), known
}

// waitingCommands adds the unapproved shell commands in the templates of the project's commands.
func (p *projectRules) waitingCommands(list []host.CommandInfo, files map[string]*waitingFile) {
	for i := range list {
		c := &list[i].Command
		path, _ := p.commandFile(c)
		if path == "" || !cli.IsShipped(list[i].Plugin) {
			continue
		}
		for _, shell := range input.ShellCommands(c.Template) {
			p.waitFor(files, path, c.Digest, fmt.Sprintf("/%s runs %s", terminal.OneLine(c.Name), terminal.OneLine(shell)))
		}
	}
}
