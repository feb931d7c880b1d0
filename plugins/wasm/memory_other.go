//go:build !linux

package wasm

import "context"

// guestMemory is unused: Go manages the memory of instances.
type guestMemory struct{}

func withMemory(ctx context.Context) (context.Context, *guestMemory) { return ctx, nil }

func (*instance) grew() bool { return false }

// trim does nothing: an idle instance keeps its memory until it is dropped.
func (i *instance) trim() { i.trimmed = true }

// image is unused.
type image struct{}

func (*image) close() {}
