//go:build !linux

package pages

// Release does nothing: elsewhere, the system does not map pages around those that are used.
func Release() {}
