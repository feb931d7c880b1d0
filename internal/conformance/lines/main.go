// Command lines is the plugin of the conformance suite as a process that speaks lines.
package main

import (
	"os"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/lines"
)

func main() {
	p := conformance.New(sdk.CarrierProcess)
	p.Exit = os.Exit
	lines.Serve(p)
}
