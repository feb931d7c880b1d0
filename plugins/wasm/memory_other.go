//go:build !linux

package wasm

import "context"

// guestMemory has no meaning here: the memory of an instance is Go's.
type guestMemory struct{}

func withMemory(ctx context.Context) (context.Context, *guestMemory) { return ctx, nil }

func (*instance) grew() bool { return false }

// trim does nothing here: an idle instance keeps all of its memory until it is dropped.
func (i *instance) trim() { i.trimmed = true }

// image has no meaning here.
type image struct{}

func (*image) close() {}
