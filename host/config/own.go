package config

import (
	"maps"
	"slices"
)

// receiverKeys are the keys by which a configuration says who receives the conversation.
var receiverKeys = []string{"provider", "model", "small_model", "agent", "command", "enabled_providers", "disabled_providers"}

// ownMerger adds up what the user's own layers say about receiverKeys, as if there were no files of the project.
type ownMerger struct {
	*merger
	differs bool // a file of the project says something about them, too
}

// add merges one layer, unless it is of the project. The layer stays the caller's.
func (o *ownMerger) add(layer tree, from Layer) {
	own := merged(nil, layer)
	maps.DeleteFunc(own, func(key string, _ any) bool { return !slices.Contains(receiverKeys, key) })
	if from == LayerProject {
		o.differs = o.differs || len(own) > 0
		return
	}
	o.merger.add(own, nil)
}
