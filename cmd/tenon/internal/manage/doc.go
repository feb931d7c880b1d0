// Package manage holds the commands for plugins, MCP servers and permissions, and the import of another tool's configuration.
package manage
