package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
)

// HookBlock is the command hooks of one source. Those of a file of the project must not run before the user approved them.
type HookBlock struct {
	Origin Origin
	Data   json.RawMessage // the value of the key in this source
}

// code notes who named plugins and hooks, before the layers add up and hide it, and takes from a layer of the project the plugins
// that the user named (isUsers).
func (m *merger) code(layer tree, origins map[string]Origin) {
	if list, ok := layer["plugins"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(entry any) bool { return m.isUsers(pluginPath(entry), origins["plugins"]) })
		layer["plugins"] = list
		for _, entry := range list {
			m.plugins[pluginPath(entry)] = origins["plugins"]
		}
	}
	if hooks, ok := layer["hooks"]; ok {
		data, err := json.Marshal(hooks)
		if err != nil {
			return // cannot be: the value came from JSON
		}
		m.hooks = append(m.hooks, HookBlock{Origin: firstUnder(origins, "hooks"), Data: data})
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
	user, named := m.plugins[path]
	return by.Layer == LayerProject && named && user.Layer != LayerProject
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

// PluginOrigin returns who named the plugin with this path in the configuration. An entry from a file of the project must not run before
// the user approved it.
func (l *Loaded) PluginOrigin(path string) Origin { return l.plugins[path] }

// HookBlocks returns the command hooks of each source, lowest layer first. They do not replace each other as the layers of other
// keys do: what a file of the project says neither adds to nor takes from what the user wrote.
func (l *Loaded) HookBlocks() []HookBlock { return slices.Clone(l.hooks) }

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
