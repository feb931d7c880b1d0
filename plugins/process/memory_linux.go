package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitMemory limits the data size of a process to memoryMB, if positive, and makes it the first process that the system kills when it runs
// out of memory. Errors are ignored, because the process works without these limits.
func limitMemory(pid, memoryMB int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	if memoryMB > 0 {
		limit := uint64(memoryMB) << 20
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
}
