// Package wasm turns a plugin written in Go into a WASM module.
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
// On other platforms Serve does nothing, so go vet and go test work on the same package.
//
// Each session has one or more instances of the module, and Start runs in each. An instance handles one call after the other. The host
// drops unused instances without calling OnClose.
package wasm
