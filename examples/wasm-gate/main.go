// Command wasm-gate is a tenon plugin, a WASM module: it denies forced pushes, and edits outside of the source directories.
package main

import "github.com/tenonhq/tenon/sdk/wasm"

var _ = wasm.Serve(plugin())

// main is never called: tenon calls the functions that the module exports.
func main() {}
