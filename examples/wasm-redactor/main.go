// Command wasm-redactor is a tenon plugin, a WASM module: it takes secrets out of what the model gets to see.
package main

import "github.com/tenonhq/tenon/sdk/wasm"

var _ = wasm.Serve(plugin())

// main is never called: tenon calls the functions that the module exports.
func main() {}
