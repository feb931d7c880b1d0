package config

import (
	"github.com/tenonhq/tenon/internal/value"
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
