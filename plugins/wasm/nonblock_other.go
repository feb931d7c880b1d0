//go:build !unix

package wasm

// openNonblock is not needed where directories hold no pipes.
const openNonblock = 0
