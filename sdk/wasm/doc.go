// Package wasm makes a WASM module of a plugin: it is what a guest written in Go links.
//
//	package main
//
//	import (
//		"github.com/tenonhq/tenon/sdk"
//		"github.com/tenonhq/tenon/sdk/wasm"
//	)
//
//	var _ = wasm.Serve(plugin())
//
//	func main() {} // never called
//
//	func plugin() *sdk.Bundle { … }
//
// The plain Go toolchain builds it:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o plugin.wasm
//
// On any other platform Serve does nothing, so that the same package can be vetted and its handlers tested with go test.
//
// A module is one instance per session, or several: Start runs in each of them. It handles one call after the other. When the
// host is done with an instance it drops it; OnClose is not called.
package wasm
