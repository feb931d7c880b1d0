package wasm

import (
	"log/slog"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Version is what tenon_abi returns.
const Version = version

// NewCall returns what tenon_call does, for a plugin outside of a module.
func NewCall(p sdk.Plugin, host guest.Caller, log func(level int32, text []byte)) func(op int32, input []byte) (int32, []byte) {
	return newInstance(p, host, log).call
}

// NewLogger returns a logger as plugins get it.
func NewLogger(write func(level int32, text []byte)) *slog.Logger {
	return newLogger(write)
}
