package config

import (
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/sdk"
)

// projectHooks is the plugin of a project's own command hooks, whose settings are the project's.
const projectHooks = "hooks.project"

// refuses reports whether a repository's file may not contain the value at p, which would have effects beyond the project: the program that runs
// the user's commands, fields of a request that do not only control generation, and settings that weaken other plugins' hooks. It warns of
// the value, which is ignored. Entries that name code to run are approved elsewhere.
func (c *checker) refuses(p place, n *checked.Node) bool {
	why := ""
	switch schema := p.Schema; {
	case schema == "plugin_policy":
		c.Bad(p, "a file of the project must not contain it", c.ownRemedy())
		return true
	case schema == "sandbox":
		why = "must not change the paths that confined commands can reach"
	case schema == "mcp_registry":
		why = "must not choose the registry of MCP servers"
	case schema == "catalog":
		why = "must not choose the source of prices and limits"
	case schema == "shell":
		known := []string{"bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "pwsh", "powershell", "cmd"} // the user's PATH determines the program
		if !slices.Contains(known, n.Text) {
			why = "may choose only the name of a known shell, such as bash"
		}
	case schema == "agent.*.options.*" || schema == "provider.*.models.*.options.*" || schema == "provider.*.models.*.variants.*.*":
		name := p.Key[strings.LastIndexByte(p.Key, '.')+1:]
		if !requestfield.Generates(name) && name != "disabled" { // of a variant: removes it
			why = "may set only fields that control generation, such as reasoningEffort or temperature"
		}
	case checked.Under(schema, "hook.*") && schema != "hook.*" && !checked.Under(p.Key, checked.Join("hook", projectHooks)):
		if message, remedy := checked.OneOf(n.Text, choices(schema)...); schema == "hook.*.onError" && message != "" {
			c.Bad(p, message, remedy)
			return true
		}
		if n.Text != string(sdk.OnErrorStop) {
			why = "may only make the hooks of other plugins stricter, with onError stop"
		}
	}
	if why != "" {
		c.Warn(p, "ignored: a project's file "+why, c.ownRemedy())
	}
	return why != ""
}

func (c *checker) ownRemedy() string {
	return "put it into your own configuration, in " + c.opts.ConfigDir
}

// restrictPaths removes from a repository's file the paths that lead out of the project. They are relative to every directory of the project, or
// to the one in which tenon was started.
func (c *checker) restrictPaths(layer tree) {
	c.restrictList(layer, "instructions", "instructions", projectfs.Upward(c.opts.Directory, c.opts.Worktree))
	if skills, ok := layer["skills"].(map[string]any); ok {
		c.restrictList(skills, "paths", "skills.paths", []string{c.opts.Directory})
	}
}

// restrictList removes from the list under name, which is the value of key, paths that lead out of the project from one of dirs.
func (c *checker) restrictList(object map[string]any, name, key string, dirs []string) {
	list, ok := object[name].([]any)
	if !ok {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(entry any) bool {
		path, _ := entry.(string)
		return !strings.Contains(path, "://") && slices.ContainsFunc(dirs, func(dir string) bool { return !c.inProject(path, dir) })
	})
	if len(kept) == len(list) {
		return
	}
	c.Report.Warn(c.problem(key, c.origins[key], "paths outside of the project are ignored: a project's file must not name them", c.ownRemedy()))
	object[name] = kept
}

// inProject reports whether a path or pattern relative to dir is inside the project after links are resolved.
func (c *checker) inProject(path, dir string) bool {
	at := c.absolute(path, dir)
	return !strings.HasPrefix(path, "~") && !projectfs.Remote(at, dir) && c.inside.Holds(projectfs.Real(at))
}
