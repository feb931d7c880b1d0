// Package mcp makes a plugin of an MCP server. It takes the types of the protocol from mcp-go, and starts, watches and restarts servers itself.
//
//	Plugin            what the host sees: tools, commands, references, hooks
//	  │  offer        what of the server's definition the user approved (Pins)
//	  │  link         one goroutine that keeps the server connected
//	  └── conn        one connection: the protocol, over a wire with a carrier: stdio, streamable HTTP or SSE
//
// Nothing here waits for a server that nobody needs: Start returns at once, Tools answers from what is known, and only a call waits,
// for as long as the server's deadline. What a server says of itself is data of a stranger: it is bounded, checked and compared with
// what was approved before any of it reaches a model.
//
// The package does not decide which servers may run: its caller passes only those that were approved.
package mcp
