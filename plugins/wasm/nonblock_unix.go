//go:build unix

package wasm

import "syscall"

// openNonblock lets opening a pipe return immediately.
const openNonblock = syscall.O_NONBLOCK
