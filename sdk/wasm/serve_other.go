//go:build !wasip1

package wasm

import "github.com/tenonhq/tenon/sdk"

// Serve makes the plugin the one a WASM module runs. On this platform it does nothing.
func Serve(sdk.Plugin) struct{} { return struct{}{} }
