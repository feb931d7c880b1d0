//go:build unix

package main_test

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory returns the most memory the process had, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // in bytes there
	}
	return int64(usage.Maxrss) << 10
}
