package config

import (
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// receiverKeys are the keys that determine who receives the conversation.
var receiverKeys = []string{"provider", "model", "small_model", "agent", "command", "enabled_providers", "disabled_providers"}

// receivers returns a copy of a layer's values of receiverKeys.
func receivers(layer tree) tree {
	out := tree{}
	for _, key := range receiverKeys {
		if v, ok := layer[key]; ok {
			out[key] = value.Clone(v)
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
