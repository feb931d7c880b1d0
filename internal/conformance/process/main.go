// Command process is the plugin of the conformance suite as a process.
package main

import (
	"os"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process"
)

func main() {
	p := conformance.New(sdk.CarrierProcess)
	p.Exit = os.Exit
	process.Serve(p)
}
