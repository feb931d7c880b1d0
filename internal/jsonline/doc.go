// Package jsonline is JSON-RPC 2.0 with one message a line, the wire of processes that do not use gRPC. Both ends use it: the host
// (plugins/process) and plugins in Go (sdk/lines). docs/process-protocol.md, "Lines", is its specification. Standard library only.
package jsonline
