//go:build !linux

package tui

// releasePages does nothing: elsewhere, the system does not map pages around those that are used.
func releasePages() {}
