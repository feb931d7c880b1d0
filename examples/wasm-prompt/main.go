// Command wasm-prompt is a tenon plugin, a WASM module: it adds house rules and the date to the system prompt.
package main

import "github.com/tenonhq/tenon/sdk/wasm"

var _ = wasm.Serve(plugin())

// main is never called: tenon calls the functions that the module exports.
func main() {}
