package plugintest

import (
	"cmp"
	"os"
)

// CompiledModules returns the directory where tests keep compiled WASM modules. .ci/run names one for all packages and runs; otherwise it is own.
func CompiledModules(own string) string { return cmp.Or(os.Getenv("TENON_TEST_MODULES"), own) }
