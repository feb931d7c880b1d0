package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
)

// Code is an entry of the configuration that names code to run, with the place that wrote it. An entry from a file of the project
// must not run before the user approved it.
type Code struct {
	Origin Origin
	Path   string          // of a plugin: as in Config.Plugins
	Data   json.RawMessage // of hooks: the value of the key in this source
}

// code notes who named plugins and hooks, before the layers add up and hide it, and takes from a layer of the project the plugins
// that the user named (isUsers).
func (m *merger) code(layer tree, origins map[string]Origin) {
	if list, ok := layer["plugins"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(entry any) bool { return m.isUsers(pluginPath(entry), origins["plugins"]) })
		layer["plugins"] = list
		for _, entry := range list {
			path := pluginPath(entry)
			at := func(c Code) bool { return c.Path == path }
			m.plugins = append(slices.DeleteFunc(m.plugins, at), Code{Origin: origins["plugins"], Path: path})
		}
	}
	if hooks, ok := layer["hooks"]; ok {
		data, err := json.Marshal(hooks)
		if err != nil {
			return // cannot be: the value came from JSON
		}
		m.hooks = append(m.hooks, Code{Origin: firstUnder(origins, "hooks"), Data: data})
	}
}

func pluginPath(entry any) string {
	fields, _ := entry.(map[string]any)
	path, _ := fields["path"].(string)
	return path
}

// isUsers reports whether a file of the project names a plugin that the user named. The user's entry stays: a repository must not
// take the options of a redactor away.
func (m *merger) isUsers(path string, by Origin) bool {
	return by.Layer == LayerProject && slices.ContainsFunc(m.plugins, func(c Code) bool { return c.Path == path && c.Origin.Layer != LayerProject })
}

// firstUnder returns the origin of the first value at or below key.
func firstUnder(origins map[string]Origin, key string) Origin {
	for _, k := range slices.Sorted(maps.Keys(origins)) {
		if under(k, key) {
			return origins[k]
		}
	}
	return Origin{}
}

// PluginOrigin returns who named the plugin with this path in the configuration.
func (l *Loaded) PluginOrigin(path string) Origin {
	for _, c := range l.plugins {
		if c.Path == path {
			return c.Origin
		}
	}
	return Origin{}
}

// HookBlocks returns the command hooks of each source, lowest layer first. They do not replace each other as the layers of other
// keys do: what a file of the project says neither adds to nor takes from what the user wrote.
func (l *Loaded) HookBlocks() []Code { return slices.Clone(l.hooks) }

// ServerOrigin returns who configured an MCP server. When a file of the project set any of its values, that is the place: it could
// have changed the command of a server the user trusts.
func (l *Loaded) ServerOrigin(name string) Origin {
	key := checked.Join("mcp", name)
	var found Origin
	for _, k := range slices.Sorted(maps.Keys(l.Origins)) {
		if !under(k, key) {
			continue
		}
		if o := l.Origins[k]; found.Source == "" || o.Layer == LayerProject && found.Layer != LayerProject {
			found = o
		}
	}
	return found
}
