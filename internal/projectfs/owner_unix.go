//go:build unix

package projectfs

import (
	"os"
	"syscall"
)

// Owned reports whether a file, or the link in its place, belongs to the user of this process.
func Owned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
