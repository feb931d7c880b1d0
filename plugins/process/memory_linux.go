package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what a process can do to the memory of the machine: its data to memoryMB, and should the machine run out of memory
// all the same, this process is the first to go and not the host. Neither is worth failing a start for.
func limitMemory(pid, memoryMB int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	if memoryMB > 0 {
		limit := uint64(memoryMB) << 20
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
}
