package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// System returns the directories of the system's programs, libraries and interpreters, and of the settings and process information they
// read. They contain no files of users.
func System() []string {
	out := []string{"/bin", "/sbin", "/usr", "/etc", "/opt", "/nix", "/gnu", "/snap", "/proc", "/sys", "/run/current-system", "/run/systemd/resolve"}
	libs, _ := filepath.Glob("/lib*") // the pattern is well formed
	return append(out, libs...)
}

// Expend makes the kernel end a process, and those that it starts, before others when memory runs out: otherwise many small processes
// would make it end the larger tenon. Confined processes cannot undo this, because they cannot write /proc; so Do's start cannot call Expend.
func Expend(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0) // fails if the process has ended
}

// Devices returns the device files of this system that programs need to write to, and the directory of shared memory. Terminals are excluded:
// new ones share a directory with the user's, whose input could be read, and through /dev/tty a process in tenon's session could type for the user.
func Devices() []string {
	all := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}
	return slices.DeleteFunc(all, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}
