package confine

import (
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

// Devices returns the device files of this system that programs need to write to, and the directory of shared memory. Terminals are excluded:
// new ones share a directory with the user's, whose input could be read, and through /dev/tty a process in tenon's session could type for the user.
func Devices() []string {
	all := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}
	return slices.DeleteFunc(all, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}
