//go:build wasip1

package wasm

import (
	"context"
	"runtime/debug"
	"unsafe"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// The functions of the host. Pointers are into this module's memory, which the host reads or writes only during the call.

//go:wasmimport tenon_v1 input
//go:noescape
func hostInput(ptr unsafe.Pointer)

//go:wasmimport tenon_v1 output
//go:noescape
func hostOutput(ptr unsafe.Pointer, length uint32)

//go:wasmimport tenon_v1 log
//go:noescape
func hostLog(level int32, ptr unsafe.Pointer, length uint32)

//go:wasmimport tenon_v1 host_call
//go:noescape
func hostCall(op unsafe.Pointer, opLen uint32, req unsafe.Pointer, reqLen uint32) int64

//go:wasmimport tenon_v1 host_read
//go:noescape
func hostRead(ptr unsafe.Pointer)

// maxKept is the maximum size of a buffer that is kept for the next call, in bytes.
const maxKept = 128 << 10

// gcPercent keeps the heap small: a host has many instances, most of them idle.
const gcPercent = 25

// served is the plugin of this module, for the exported functions, which have no receiver.
var served struct {
	*instance
	input []byte // reused by every call
}

// Serve sets the plugin of this module. Call it once, while package main is initialised: var _ = wasm.Serve(plugin). The result has no meaning.
func Serve(p sdk.Plugin) struct{} {
	debug.SetGCPercent(gcPercent)
	served.instance = newInstance(p, callHost, writeLog)
	return struct{}{}
}

//go:wasmexport tenon_abi
func exportABI() int32 { return version }

//go:wasmexport tenon_call
func exportCall(op, length int32) int32 {
	if served.instance == nil {
		return fail("package main does not call wasm.Serve")
	}
	if int(length) > cap(served.input) {
		served.input = make([]byte, length)
	}
	input := served.input[:length]
	if length > 0 {
		hostInput(unsafe.Pointer(unsafe.SliceData(input)))
	}
	result, output := served.call(op, input)
	if len(output) > 0 {
		hostOutput(unsafe.Pointer(unsafe.SliceData(output)), uint32(len(output)))
	}
	if cap(served.input) > maxKept {
		served.input = nil
	}
	return result
}

func fail(text string) int32 {
	hostOutput(unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
	return resultError
}

func callHost(_ context.Context, op string, request []byte) (guest.Status, []byte, error) {
	answer := hostCall(unsafe.Pointer(unsafe.StringData(op)), uint32(len(op)), unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	output := make([]byte, uint32(answer))
	if len(output) > 0 {
		hostRead(unsafe.Pointer(unsafe.SliceData(output)))
	}
	return guest.Status(answer >> 32), output, nil
}

func writeLog(level int32, text []byte) {
	hostLog(level, unsafe.Pointer(unsafe.SliceData(text)), uint32(len(text)))
}
