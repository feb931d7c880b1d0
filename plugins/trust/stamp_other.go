//go:build !linux && !darwin

package trust

import "io/fs"

// stampOf returns nothing: here only size and time of modification tell that a file changed.
func stampOf(fs.FileInfo) (changed int64, inode, device uint64) { return 0, 0, 0 }
