// Command process is the plugin of the conformance suite as a process.
package main

import (
	"os"
	"runtime/debug"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process"
)

// maxStack bounds the stack of a recursion without end, in bytes. Go's own limit is a gigabyte.
const maxStack = 64 << 20

func main() {
	debug.SetMaxStack(maxStack)
	p := conformance.New(sdk.CarrierProcess)
	p.Exit = os.Exit
	process.Serve(p)
}
