// Package generation loads plugins and keeps what they contribute.
//
//	Registry (registry.go): the set in force, reloads
//	  └─ Set (set.go): plugins that start in parallel, their hooks in an engine, the configuration, the models
//	       ├─ Plugin (plugin.go): one plugin, asked under a guard (guard.go, foreign.go)
//	       └─ agents.go, inventory.go, chosen.go: agents, commands, skills
//	pluginHost (pluginhost.go): the host as one plugin sees it; Turns gives it access to the turns that run
//
// Turns that run keep the set they began with: it is used between Acquire, or Retain, and Release.
package generation
