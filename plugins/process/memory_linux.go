package process

import (
	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/confine"
)

// limitMemory limits the data size of a process to memoryMB, if positive, and makes it the first process that the system kills when it runs
// out of memory. Errors are ignored, because the process works without these limits.
func limitMemory(pid, memoryMB int) {
	confine.Expend(pid)
	if memoryMB > 0 {
		limit := uint64(memoryMB) << 20
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
}
