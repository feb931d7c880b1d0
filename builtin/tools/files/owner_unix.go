//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// takeAfter sets the owner and the mode of f to those of old. Only root can change the owner; for others it tries the group, and otherwise
// the file belongs to them, as with any editor that saves by renaming.
func takeAfter(f *os.File, old fs.FileInfo) error {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		if f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
			_ = f.Chown(-1, int(stat.Gid)) // best effort, see above
		}
	}
	// After the owner, because changing the owner clears setuid and setgid.
	return f.Chmod(old.Mode())
}
