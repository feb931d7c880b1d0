//go:build !linux

package process

// confine does nothing: the system has no bound that can be set from outside.
func confine(pid, memoryMB int) {}
