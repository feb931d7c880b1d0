package config

import (
	"encoding/json"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
)

// HookBlock is the command hooks of one source. Those of a file of the project must not run before the user approved them.
type HookBlock struct {
	Origin Origin
	Data   json.RawMessage // the value of the key in this source
}

// code notes the origins of plugins and hooks, which the merged layers do not have, and removes from a layer of the project the plugins that
// the user named. The user's entry stays: a repository must not remove the options of a redactor.
func (m *merger) code(layer tree, origins map[string]Origin) {
	if list, ok := layer["plugins"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(entry any) bool {
			user, named := m.plugins[pluginPath(entry)]
			return origins["plugins"].Layer == LayerProject && named && user.Layer != LayerProject
		})
		layer["plugins"] = list
		for _, entry := range list {
			m.plugins[pluginPath(entry)] = origins["plugins"]
		}
	}
	if hooks, ok := layer["hooks"]; ok {
		data, err := json.Marshal(hooks)
		if err != nil {
			return // impossible: the value came from JSON
		}
		m.hooks = append(m.hooks, HookBlock{Origin: firstUnder(origins, "hooks"), Data: data})
	}
}

func pluginPath(entry any) string {
	fields, _ := entry.(map[string]any)
	path, _ := fields["path"].(string)
	return path
}

// firstUnder returns the origin of the first value at or below key. It prefers a value that a file of the project set.
func firstUnder(origins map[string]Origin, key string) Origin {
	var keys []string
	for k := range origins {
		if checked.Under(k, key) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return Origin{}
	}
	slices.Sort(keys)
	first := slices.IndexFunc(keys, func(k string) bool { return origins[k].Layer == LayerProject })
	return origins[keys[max(first, 0)]]
}

// PluginOrigin returns the origin of the entry of the plugin with this path. An entry from a file of the project must not run before the user
// approved it.
func (l *Loaded) PluginOrigin(path string) Origin { return l.plugins[path] }

// HookBlocks returns the command hooks of each source, lowest layer first. Unlike the values of other keys, they do not replace each other: a
// file of the project does not change the user's hooks.
func (l *Loaded) HookBlocks() []HookBlock { return slices.Clone(l.hooks) }

// ServerOrigin returns the origin of an MCP server: a file of the project if it set any value, because that could be the command of a server that
// the user trusts.
func (l *Loaded) ServerOrigin(name string) Origin {
	return firstUnder(l.Origins, checked.Join("mcp", name))
}

// Taken returns the names of the variables whose values a file uses in key or the keys below it. If file is empty, it returns those of all files:
// a server of the project keeps the values of the user's file that the project does not replace.
func (l *Loaded) Taken(file, key string) (names []string) {
	for _, t := range l.taken {
		if checked.Under(t.key, key) && (file == "" || file == t.file) {
			names = append(names, t.variable)
		}
	}
	return names
}

// Kept returns the keys below key whose values are not those of a file of the project.
func (l *Loaded) Kept(key string) (keys []string) {
	for k, origin := range l.Origins {
		if checked.Under(k, key) && origin.Layer != LayerProject {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
