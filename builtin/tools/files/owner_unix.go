//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// takeAfter gives f the mode of old and its owner. Only root can give a file away; for others the group
// is tried and else the file becomes their own, as with any editor that saves by renaming.
func takeAfter(f *os.File, old fs.FileInfo) error {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		if f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
			_ = f.Chown(-1, int(stat.Gid)) // best effort, see above
		}
	}
	// After the owner, as changing that takes setuid and setgid away.
	return f.Chmod(old.Mode())
}
