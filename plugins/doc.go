// Package plugins finds third-party plugins, compares them with what the user approved, and opens them with the given carriers.
//
// A Loader reads packages, modules and executables from the configuration, from .tenon/plugins of the project and from the user's
// plugin directory. What is approved is run from a sealed copy of its content (package trust); nothing of what is not approved runs, is
// compiled, or gets into a prompt.
//
//	found path ─► digest ─► approved? ─► sealed copy ─► manifest ─► asks for more? ─► carrier ─► plugin
//	                          └─ no: the manifest is read to show what it asks for, and nothing else
package plugins
