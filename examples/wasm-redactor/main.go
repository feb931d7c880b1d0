// Command wasm-redactor is a tenon plugin, a WASM module: it removes secrets from the text that models see.
package main

import "github.com/tenonhq/tenon/sdk/wasm"

var _ = wasm.Serve(plugin())

// main is never called: tenon calls the functions that the module exports.
func main() {}
