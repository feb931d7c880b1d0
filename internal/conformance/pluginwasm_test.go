//go:build wasip1

package conformance

import (
	"os"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

// The plugin as a module, which consists of this file and those of the plugin.
var _ = wasm.Serve(module())

func module() sdk.Plugin {
	p := New(sdk.CarrierWASM)
	p.Exit = os.Exit
	return p
}
