// Package protocol connects to an MCP server and speaks the protocol with it, in all its revisions. It uses mcp-go's types.
//
//	Dialer          how to reach a server: a command, or a URL
//	  └── Conn      one connection: the handshake, calls with their time limits, lists, the server's own requests
//	        └── carrier   exchanges messages: stdio, streamable HTTP or SSE
//
// A Conn is used until it is lost; its user then makes another one. It passes on the server's messages undecoded.
package protocol
