package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/sdk"
)

// projectHooks is the plugin of a project's own command hooks, whose settings are the project's.
const projectHooks = "hooks.project"

// restrictProject removes from a repository's file the values that would have effects beyond it, and warns of them: the program that runs the
// user's commands, files elsewhere, and settings that weaken other plugins' hooks. Entries that name code to run are approved elsewhere.
func (c *checker) restrictProject(layer tree) {
	left := func(key, why, remedy string) {
		delete(layer, key)
		c.Report.Warn(c.problem(key, firstUnder(c.origins, key), why, remedy))
		maps.DeleteFunc(c.origins, func(k string, _ Origin) bool { return under(k, key) })
	}
	remedy := "put it into your own configuration, in " + c.opts.ConfigDir
	known := []string{"bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "pwsh", "powershell", "cmd"} // the user's PATH determines the program
	if shell, ok := layer["shell"].(string); ok && !slices.Contains(known, shell) {
		left("shell", "ignored: a project's file may choose only the name of a known shell, such as bash", remedy)
	}
	for _, field := range []struct{ key, must string }{
		{"sandbox", "change the paths that confined commands can reach"},
		{"mcp_registry", "choose the registry of MCP servers"},
		{"catalog", "choose the source of prices and limits"},
	} {
		if _, ok := layer[field.key]; ok {
			left(field.key, "ignored: a project's file must not "+field.must, remedy)
		}
	}
	if _, ok := layer["plugin_policy"]; ok {
		delete(layer, "plugin_policy")
		c.Report.Add(c.problem("plugin_policy", firstUnder(c.origins, "plugin_policy"), "a file of the project must not contain it", remedy))
	}
	restrictFields(layer, func(key string) {
		left(key, "ignored: a project's file may set only fields that control generation, such as reasoningEffort or temperature", remedy)
	})
	// These paths are relative to every directory of the project, or to the one in which tenon was started.
	c.restrictPaths(layer, "instructions", "instructions", projectfs.Upward(c.opts.Directory, c.opts.Worktree), remedy)
	if skills, ok := layer["skills"].(map[string]any); ok {
		c.restrictPaths(skills, "paths", "skills.paths", []string{c.opts.Directory}, remedy)
	}
	eachObject(layer["hook"], func(name string, settings map[string]any) {
		if name == projectHooks {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			if onError, ok := settings[key].(string); ok && onError == string(sdk.OnErrorStop) {
				continue // stricter
			}
			delete(settings, key)
			left(checked.Join(checked.Join("hook", name), key), "ignored: a project's file may only make the hooks of other plugins stricter, with onError stop", remedy)
		}
	})
}

// restrictFields removes from the options of models, variants and agents all fields that do not only control generation, and calls left with the
// key of each.
func restrictFields(layer tree, left func(key string)) {
	restrict := func(object map[string]any, name, key string) {
		options, _ := object[name].(map[string]any)
		for _, field := range requestfield.Restrict(options) {
			left(checked.Join(checked.Join(key, name), field))
		}
	}
	eachObject(layer["agent"], func(name string, agent map[string]any) { restrict(agent, "options", checked.Join("agent", name)) })
	eachObject(layer["provider"], func(id string, provider map[string]any) {
		eachObject(provider["models"], func(name string, model map[string]any) {
			key := checked.Join(checked.Join("provider", id)+".models", name)
			restrict(model, "options", key)
			variants, _ := model["variants"].(map[string]any)
			for _, variant := range slices.Sorted(maps.Keys(variants)) {
				restrict(variants, variant, key+".variants")
			}
		})
	})
}

// restrictPaths removes from the list under name, which is the value of key, paths that lead out of the project from one of dirs.
func (c *checker) restrictPaths(object map[string]any, name, key string, dirs []string, remedy string) {
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
	c.Report.Warn(c.problem(key, c.origins[key], "paths outside of the project are ignored: a project's file must not name them", remedy))
	object[name] = kept
}

// inProject reports whether a path or pattern relative to dir is inside the project after links are resolved.
func (c *checker) inProject(path, dir string) bool {
	return !strings.HasPrefix(path, "~") && c.inside.Holds(projectfs.Real(c.absolute(path, dir)))
}
