// Package mcp turns an MCP server into a plugin. It starts, watches and restarts servers itself.
//
//	Plugin            the contributions: tools, commands, references, hooks (interceptors: package interceptor)
//	  │  offer        the part of the server's definition that the user approved (Pins)
//	  │  link         one goroutine that keeps the server connected
//	  └── connection  one connection (package protocol) with the definition of its server; package input answers its requests
//
// No turn waits for a server it does not need: Start returns immediately, Tools returns the known tools, and only a call waits,
// at most for the server's timeout. A server's description of itself is untrusted: it is limited, checked and compared with the
// approved one before any of it reaches a model.
//
// The package does not decide which servers may run: its caller passes only approved servers.
package mcp
