package projectfs

import (
	"io/fs"
	"time"
)

// Stamp changes when a file is written or replaced, unless that happens within one tick of the clock that its file system uses. The zero value
// means that the file does not exist.
type Stamp struct {
	Mode              fs.FileMode
	Size              int64
	Modified, Changed int64 // nanoseconds; programs cannot set Changed without setting the clock; it equals Modified where the system has no such time
	Inode, Device     uint64
}

// StampOf returns the stamp of a file from the results of a call such as os.Lstat.
func StampOf(info fs.FileInfo, err error) Stamp {
	if err != nil {
		return Stamp{}
	}
	modified := info.ModTime().UnixNano()
	s := Stamp{Mode: info.Mode(), Size: info.Size(), Modified: modified, Changed: modified}
	s.refine(info.Sys())
	return s
}

// Identity returns the part that does not change with the content of a directory.
func (s Stamp) Identity() Stamp { return Stamp{Mode: s.Mode.Type(), Inode: s.Inode, Device: s.Device} }

// Time returns when the file changed last.
func (s Stamp) Time() time.Time { return time.Unix(0, s.Changed) }
