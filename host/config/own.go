package config

import "slices"

// receiverKeys are the keys by which a configuration says who receives the conversation.
var receiverKeys = []string{"provider", "model", "small_model", "agent", "command", "enabled_providers", "disabled_providers"}

// ownMerger adds up what the user's own layers say about receiverKeys, as if there were no files of the project.
type ownMerger struct {
	*merger
	differs bool // a file of the project says something about them, too
}

// newOwnMerger returns the merger for these sources; without a merger if none is of the project, as then there is nothing to tell
// apart.
func newOwnMerger(sources []*source) *ownMerger {
	o := &ownMerger{}
	if slices.ContainsFunc(sources, func(s *source) bool { return s.layer == LayerProject }) {
		o.merger = newMerger()
	}
	return o
}

// add merges one layer, unless it is of the project. The layer stays the caller's.
func (o *ownMerger) add(layer tree, from Layer) error {
	if o.merger == nil {
		return nil
	}
	own := tree{}
	for key, value := range layer {
		if slices.Contains(receiverKeys, key) {
			own[key] = copied(value)
		}
	}
	if from == LayerProject {
		o.differs = o.differs || len(own) > 0
		return nil
	}
	return o.merger.add(own, nil)
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
