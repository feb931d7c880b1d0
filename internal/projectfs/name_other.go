//go:build !windows

package projectfs

// nameOf returns the name.
func nameOf(dir, name string) string { return name }
