package extensions

import (
	"path/filepath"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// carriers returns the carriers of plugins and the runtime of modules, which the caller closes. It reads, compiles and starts nothing.
func carriers(o *Options) (map[sdk.Carrier]plugins.Carrier, *wasm.Runtime, error) {
	runtime, err := wasm.New(wasm.Options{CacheDir: filepath.Join(o.CacheDir, "wasm"), Logger: o.Logger})
	if err != nil {
		return nil, nil, err
	}
	return map[sdk.Carrier]plugins.Carrier{
		sdk.CarrierWASM: runtime,
		sdk.CarrierProcess: process.New(process.Options{
			Environ: o.Environ, Host: "tenon " + o.Version,
			Unconfined: func(plugin string) bool { return o.unconfined(plugin) != nil },
		}),
	}, runtime, nil
}
