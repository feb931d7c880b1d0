// Package lines runs a plugin as a process that uses JSON-RPC, with one message per line:
//
//	func main() { lines.Serve(&sdk.Bundle{…}) }
//
// It uses only the standard library, and starts faster than package process, which uses gRPC. Both run the same plugins.
// docs/process-protocol.md, "Lines", describes the wire.
package lines
