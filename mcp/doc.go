// Package mcp turns an MCP server into a plugin. It uses mcp-go's types of the protocol and starts, watches and restarts servers itself.
//
//	Plugin            the contributions: tools, commands, references, hooks (interceptors: package interceptor)
//	  │  offer        the part of the server's definition that the user approved (Pins)
//	  │  link         one goroutine that keeps the server connected
//	  └── conn        one connection: the protocol, over a wire with a carrier: stdio, streamable HTTP or SSE
//
// No turn waits for a server it does not need: Start returns immediately, Tools returns the known tools, and only a call waits,
// at most for the server's timeout. A server's description of itself is untrusted: it is limited, checked and compared with the
// approved one before any of it reaches a model.
//
// The package does not decide which servers may run: its caller passes only approved servers.
package mcp
