// Command wasm-fetch is a tenon plugin, a WASM module: it gives the model a tool that asks the Go module proxy for the latest version of a module.
package main

import "github.com/tenonhq/tenon/sdk/wasm"

var _ = wasm.Serve(plugin())

// main is never called: tenon calls the functions that the module exports.
func main() {}
