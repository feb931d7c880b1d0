// Package mcpinterceptor is an example of an MCP server that watches over the tools of others: server.mjs, run by node. It has no Go
// code but the test that runs it in turns of a real host.
package mcpinterceptor
