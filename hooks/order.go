package hooks

import (
	"cmp"
	"slices"
)

// sortHooks returns the hooks of one point in the order they are called: by priority, then as Before and After demand, then as configured. It
// repeatedly takes the first hook that no other hook must precede. If there is none, it takes the first hook, and calls warn with the hooks
// that contradict each other or wait for such hooks.
func sortHooks(hooks []*pluginHook, warn func(waiting []*pluginHook)) []*pluginHook {
	waiting := slices.Clone(hooks)
	slices.SortStableFunc(waiting, func(a, b *pluginHook) int { return cmp.Compare(a.Priority, b.Priority) })
	out := make([]*pluginHook, 0, len(hooks))
	for len(waiting) > 0 {
		i := slices.IndexFunc(waiting, func(h *pluginHook) bool {
			return !slices.ContainsFunc(waiting, func(o *pluginHook) bool { return precedes(o, h) })
		})
		if i < 0 {
			i = 0
			warn(slices.DeleteFunc(slices.Clone(waiting), func(h *pluginHook) bool { return h.Priority != waiting[0].Priority }))
		}
		out = append(out, waiting[i])
		waiting = slices.Delete(waiting, i, i+1)
	}
	return out
}

func precedes(a, b *pluginHook) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return slices.Contains(a.Before, b.plugin.Name) || slices.Contains(b.After, a.plugin.Name)
}
