//go:build !linux

package gitkeep

import (
	"os"
	"time"
)

// stamp changes when a file changes, which suffices on systems without confinement. The zero value means that the file does not exist.
type stamp struct {
	size  int64
	mode  os.FileMode
	mtime int64
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.Mode(), info.ModTime().UnixNano()}
}

func (s stamp) identity() stamp { return stamp{mode: s.mode} }

func (s stamp) changed() time.Time { return time.Unix(0, s.mtime) }

func clock() time.Time { return time.Now() }
