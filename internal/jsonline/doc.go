// Package jsonline is JSON-RPC 2.0 with one message a line, the protocol of processes that do not use gRPC. Both ends use it: the
// host (plugins/process) and plugins in Go (sdk/lines). docs/process-protocol.md, "Lines", is its specification. It imports the
// standard library only.
package jsonline
