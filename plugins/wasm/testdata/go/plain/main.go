// Package main is a guest in Go for the tests: it changes one field of a tool's arguments.
package main

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

var _ = wasm.Serve(plugin())

func main() {}

func plugin() *sdk.Bundle {
	return &sdk.Bundle{
		Info:     sdk.Manifest{Name: "plain", Version: "0.1.0", Carrier: sdk.CarrierWASM},
		HookList: []sdk.Hook{sdk.OnToolBefore(mark)},
	}
}

func mark(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
	v.Args["marked"] = true
	return nil
}
