package config

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// receiverKeys are the keys by which a configuration says who receives the conversation.
var receiverKeys = []string{"provider", "model", "small_model", "agent", "command", "enabled_providers", "disabled_providers"}

// receivers returns a copy of what a layer says about receiverKeys.
func receivers(layer tree) tree {
	out := tree{}
	for key, value := range layer {
		if slices.Contains(receiverKeys, key) {
			out[key] = copied(value)
		}
	}
	return out
}

// merged returns the configuration of these layers alone.
func merged(layers []tree) (*sdk.Config, error) {
	m := newMerger()
	for _, layer := range layers {
		if err := m.add(layer, nil); err != nil {
			return nil, err
		}
	}
	return m.config()
}

// copied returns a copy of the objects in v: koanf merges into those it was given.
func copied(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = copied(value)
	}
	return out
}
