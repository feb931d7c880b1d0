// Command wasm is the plugin of the conformance suite as a WASM module.
package main

import (
	"os"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

var _ = wasm.Serve(plugin())

func main() {} // never called

func plugin() sdk.Plugin {
	p := conformance.New(sdk.CarrierWASM)
	p.Exit = os.Exit
	return p
}
