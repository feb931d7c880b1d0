package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// System returns the directories that programs of the system, their libraries and interpreters are in, and what they read to run:
// settings and processes. It contains no files of users.
func System() []string {
	out := []string{"/bin", "/sbin", "/usr", "/etc", "/opt", "/nix", "/gnu", "/snap", "/proc", "/sys", "/run/current-system", "/run/systemd/resolve"}
	libs, _ := filepath.Glob("/lib*") // the pattern is well formed
	return append(out, libs...)
}

// Expend makes the kernel end a process, and those that it starts, before others when memory runs out: small processes in great number would
// otherwise end the larger tenon. Confined processes cannot undo it, because /proc is not writable to them; nor can Do's start call Expend.
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
