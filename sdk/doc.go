// Package sdk is the contract between tenon and its plugins: the message model and its JSON, hook
// points, tools, providers and the manifest.
//
// It imports the standard library only and builds for GOOS=wasip1 GOARCH=wasm, so that one set of
// handlers can be compiled into the host, into a plugin process or into a WASM module.
//
// # The picture
//
//	Plugin ──Manifest()──► who it is, what it asks for
//	       ──Hooks()─────► []Hook   called at hook points (hook.go, hookdata.go)
//	       ──Tools()─────► []Tool   offered to the model   (tool.go)
//	       ──Protocols()─► []Protocol  ways to talk to model servers (provider.go)
//
// # The wire
//
// JSON shapes, field names, identifiers and event names are opencode's, so that its clients can read
// our sessions. Every object of the wire keeps the fields it does not know (Extra) and every union
// keeps the members it does not know (UnknownPart), so that data written by a newer or an older
// version survives a decode and an encode.
package sdk
