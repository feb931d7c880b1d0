//go:build !linux

package process

// limitMemory does nothing: the system has no limit that another process can set.
func limitMemory(pid, memoryMB int) {}
