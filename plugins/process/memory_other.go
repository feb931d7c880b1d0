//go:build !linux

package process

// limitMemory does nothing: the system has no bound that can be set from outside.
func limitMemory(pid, memoryMB int) {}
