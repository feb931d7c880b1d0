// Package generation loads plugins and keeps their contributions.
//
//	Registry (registry.go): the set in force, reloads (reload.go), by the options of the host (options.go)
//	  └─ Set (set.go): plugins that start in parallel, their hooks in an engine, the configuration, the models
//	       ├─ Plugin (plugin.go): one plugin, called with a deadline (calls.go); foreign.go checks its parts, hookchanges.go its changes
//	       ├─ agents.go, commands.go: agents, commands and skills of all plugins; rules.go: the rules of an agent in a session
//	       └─ hide.go: texts without the secrets of the configuration
//	Inventory (inventory.go): all of these for users
//	pluginHost (pluginhost.go, sample.go): the host as one plugin sees it; Turns gives it access to the turns that run
//
// A Set is a generation in the code. A turn keeps its generation, from Acquire (or Retain) to Release, even if a
// reload replaces it.
package generation
