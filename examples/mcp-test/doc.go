// Package mcptest runs the examples of MCP servers in turns of a real host.
package mcptest
