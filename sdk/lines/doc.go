// Package lines makes a plugin a process that speaks JSON-RPC, one message a line:
//
//	func main() { lines.Serve(&sdk.Bundle{…}) }
//
// It needs no library outside the standard library, and starts faster than package process, which speaks gRPC; both serve the same
// plugins. docs/process-protocol.md, "Lines", describes the wire.
package lines
