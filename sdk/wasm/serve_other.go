//go:build !wasip1

package wasm

import "github.com/tenonhq/tenon/sdk"

// Serve sets the plugin of a WASM module. It does nothing on this platform.
func Serve(sdk.Plugin) struct{} { return struct{}{} }
