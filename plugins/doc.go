// Package plugins finds third-party plugins, compares them with what the user approved, and opens them with the given carriers.
//
// A Loader reads packages, modules and executables from the configuration, from .tenon/plugins of the project and from the user's
// plugin directory. Approved plugins run from a sealed copy of their content (package trust). No part of any other plugin runs,
// is compiled, or gets into a prompt.
//
//	found path ─► digest ─► approved? ─► sealed copy ─► manifest ─► requests more? ─► carrier ─► plugin
//	                          └─ no: the manifest is read to show its requests, and nothing else
package plugins
