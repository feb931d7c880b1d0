package trust

import (
	"io/fs"
	"syscall"
)

// stampOf returns metadata that changes when a file is written or replaced, in addition to its size and modification time.
func stampOf(info fs.FileInfo) (changed int64, inode, device uint64) {
	s := info.Sys().(*syscall.Stat_t)
	return s.Ctim.Nano(), s.Ino, uint64(s.Dev)
}
