// Package conformance runs the suite of plugins/plugintest, and plugins that misbehave, over every carrier. The folders below hold the
// one plugin of the suite as each carrier wants it: a WASM module, a process, an MCP server, a command.
package conformance
