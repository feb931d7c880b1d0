package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/knadh/koanf/v2"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// tree holds the values of one or more layers. Leaves are strings, booleans, json.Number, nil, []any and sdk.PermissionRules, whose order a map
// would lose.
type tree = map[string]any

// layer passes a tree to koanf.
type layer tree

// Read returns the tree.
func (l layer) Read() (map[string]any, error) { return l, nil }

// ReadBytes is called only with a parser.
func (l layer) ReadBytes() ([]byte, error) { return nil, errors.ErrUnsupported }

// merger merges the layers.
type merger struct {
	ko      *koanf.Koanf
	origins map[string]Origin
	sums    map[string]any    // by key, the lists that add up
	plugins map[string]Origin // by path, the place that named the plugin
	hooks   []HookBlock
}

func newMerger() *merger {
	// Names of models contain dots, so the delimiter is a character that no key has.
	return &merger{ko: koanf.New("\x00"), origins: map[string]Origin{}, sums: map[string]any{}, plugins: map[string]Origin{}}
}

// defaults adds the default values.
func (m *merger) defaults() error {
	values := tree{
		"logLevel":       "warn",
		"snapshot":       true,
		"subagent_depth": 1,
		"tool_output":    map[string]any{"max_lines": 2000, "max_bytes": 50 << 10},
		"compaction":     map[string]any{"auto": true},
		"retry":          map[string]any{"max": 5, "delay_ms": 2000},
	}
	origins := map[string]Origin{}
	eachLeaf("", values, func(key string) { origins[key] = Origin{Layer: LayerDefault, Source: string(LayerDefault)} })
	return m.add(values, origins)
}

// add merges a layer, which it changes, over the earlier ones. Its values replace theirs, except for the lists that add up.
func (m *merger) add(values tree, origins map[string]Origin) error {
	m.code(values, origins)
	m.sumUp(values, "instructions", "instructions")
	m.sumUp(values, "plugins", "plugins")
	m.sumUp(values, "permission", "permission")
	eachObject(values["agent"], func(name string, agent map[string]any) {
		m.sumUp(agent, "permission", checked.Join(checked.Join("agent", name), "permission"))
	})
	maps.Copy(m.origins, origins)
	return m.ko.Load(layer(values), nil)
}

// sumUp replaces the list under name, the value of key, by the sum of the earlier ones and it.
func (m *merger) sumUp(object map[string]any, name, key string) {
	switch list := object[name].(type) {
	case sdk.PermissionRules:
		before, _ := m.sums[key].(sdk.PermissionRules)
		object[name] = slices.Concat(before, list)
	case []any:
		before, _ := m.sums[key].([]any)
		object[name] = mergeEntries(before, list)
	default:
		return
	}
	m.sums[key] = object[name]
}

// mergeEntries appends new entries. An entry with the path of an earlier one replaces it.
func mergeEntries(before, more []any) []any {
	identity := func(v any) any {
		if plugin, ok := v.(map[string]any); ok {
			return plugin["path"]
		}
		return v
	}
	sum, at := slices.Clone(before), map[any]int{}
	for i, v := range before {
		at[identity(v)] = i
	}
	for _, v := range more {
		i, ok := at[identity(v)]
		if !ok {
			at[identity(v)] = len(sum)
			sum = append(sum, v)
			continue
		}
		sum[i] = v
	}
	return sum
}

// config decodes the merged layers. It removes the origins of values that were replaced.
func (m *merger) config() (*sdk.Config, error) {
	keys := make(map[string]bool, len(m.origins))
	root := m.ko.Raw()
	eachLeaf("", root, func(key string) { keys[key] = true })
	maps.DeleteFunc(m.origins, func(key string, _ Origin) bool { return !keys[key] })
	data, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("merged configuration: %w", err)
	}
	cfg := &sdk.Config{}
	if err := json.Unmarshal(data, cfg); err != nil {
		return nil, fmt.Errorf("%w: merged: %w", ErrConfig, err)
	}
	return cfg, nil
}

// eachLeaf calls f with the key of every value in m that is not an object with members.
func eachLeaf(key string, m map[string]any, f func(key string)) {
	for name, value := range m {
		inner, ok := value.(map[string]any)
		if ok && len(inner) > 0 {
			eachLeaf(checked.Join(key, name), inner, f)
			continue
		}
		f(checked.Join(key, name))
	}
}
