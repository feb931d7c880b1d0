package marketplace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/plugins/manifest"
)

// components are the fields of a manifest that name parts of the plugin, see
// https://code.claude.com/docs/en/plugins-reference#plugin-manifest-schema.
var components = []string{
	"skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles", "workflows", "channels", "userConfig", "dependencies", "experimental",
}

// ErrConflict is returned for a plugin whose manifest names parts although its entry claims to define it alone.
var ErrConflict = errors.New("the marketplace and the plugin's own manifest both define its parts")

// Manifest returns the manifest that the entry makes of a plugin; empty if the plugin's own is enough. own is the plugin's manifest of Claude
// Code; nil without one. has reports whether the plugin has any manifest. Errors wrap ErrConflict, or are about JSON.
func (e *Entry) Manifest(own []byte, has bool) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if own != nil {
		if err := json.Unmarshal(own, &fields); err != nil {
			return nil, fmt.Errorf("%s: %w", manifest.ClaudeFile, err)
		}
	}
	names := func(set map[string]json.RawMessage) []string {
		return slices.DeleteFunc(slices.Clone(components), func(name string) bool { return set[name] == nil })
	}
	adds, declared := names(e.definition), names(fields)
	switch {
	case !e.strict && len(declared) > 0:
		return nil, fmt.Errorf("%w: %s of %s", ErrConflict, declared[0], manifest.ClaudeFile)
	case e.strict && has && len(adds) == 0:
		return nil, nil
	}
	merged := maps.Clone(e.definition)
	if e.strict {
		for name, value := range fields {
			if slices.Contains(adds, name) {
				value = join(value, e.definition[name])
			}
			merged[name] = value
		}
	} else if merged["skills"] != nil {
		merged[manifest.OnlyListed] = json.RawMessage("true")
	}
	return encode(merged), nil
}

// join adds an entry's value of a component to that of the manifest: lists are appended, and an object's own members win. If they do not fit
// together, the manifest's is used.
func join(own, added json.RawMessage) json.RawMessage {
	var left, right map[string]json.RawMessage
	if json.Unmarshal(own, &left) == nil && json.Unmarshal(added, &right) == nil {
		maps.Copy(right, left)
		return encode(right)
	}
	first, ok := list(own)
	second, also := list(added)
	if !ok || !also {
		return own
	}
	return encode(append(first, second...))
}

func encode(v any) json.RawMessage {
	data, _ := json.Marshal(v) // JSON that was valid before
	return data
}

// list returns the elements of a list, or a text as the only element of one.
func list(raw json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if json.Unmarshal(raw, &out) == nil {
		return out, true
	}
	var s string
	return []json.RawMessage{raw}, json.Unmarshal(raw, &s) == nil
}
