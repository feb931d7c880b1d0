package wasm

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// Carrier returns the carrier of modules.
func Carrier() remote.Carrier {
	return remote.Carrier{Name: sdk.CarrierWASM, Extension: ".wasm", Module: true, Inert: true, How: how, Check: check, New: newOpener}
}

func newOpener(e remote.Environment) remote.Opener {
	o := Options{Logger: e.Logger}
	if e.CacheDir != "" {
		o.CacheDir = filepath.Join(e.CacheDir, "wasm")
	}
	return New(o)
}

func how(rt *sdk.Runtime, _ error) string {
	memory := cmp.Or(rt.MemoryMB, sdk.DefaultWASMMemoryMB)
	return fmt.Sprintf("a WASM module: it can access only what is listed here; at most %d MiB of memory per instance", memory)
}

func check(c remote.Checker, where string, rt *sdk.Runtime) {
	if len(rt.Command) > 0 || len(rt.Platforms) > 0 {
		c.Problem(where, "remove command and platforms", "a wasm plugin has a module and no command")
	}
	if rt.MemoryMB < 0 || rt.MemoryMB > sdk.MaxWASMMemoryMB {
		c.Problem(checked.Join(where, "memory"), "", "%d is not between 1 and %d MiB", rt.MemoryMB, sdk.MaxWASMMemoryMB)
	}
	switch rt.State {
	case "", sdk.StateSession, sdk.StatePlugin:
	default:
		c.Problem(checked.Join(where, "state"), `write "session" or "plugin"`, "unknown state %.80q", rt.State)
	}
	if rt.Module == "" {
		c.Problem(checked.Join(where, "module"), `write the path of the module, such as "./plugin.wasm"`, "is missing")
		return
	}
	c.File(checked.Join(where, "module"), rt.Module, false)
}
