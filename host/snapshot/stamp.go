package snapshot

import (
	"os"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
)

const (
	// settleAfter is the age of a change from which a stamp is reliable: a file that is written twice within one tick of the file
	// system's clock (4 to 16 ms) has the same stamp after both writes.
	settleAfter = 50 * time.Millisecond
	// settleCoarse is the same for file systems that keep whole seconds (FAT: two).
	settleCoarse = 2100 * time.Millisecond
)

// stamp is the metadata of a file. Equal stamps mean the same content, unless the file was changed within moments of the first stamp.
type stamp struct {
	Mode         uint32 // kind and permissions, as in Entry
	Size         int64
	Mtime, Ctime int64 // nanoseconds. Programs cannot set Ctime; it is Mtime on systems without it
	Inode        uint64
}

// stampOf returns the stamp of a file.
func stampOf(info os.FileInfo) stamp {
	is := projectfs.StampOf(info, nil)
	s := stamp{Mode: unixMode(info), Size: is.Size, Mtime: is.Modified, Ctime: is.Changed, Inode: is.Inode}
	switch kind := info.Mode().Type(); kind {
	case 0:
		s.Mode |= kindFile
	case os.ModeSymlink:
		s.Mode |= kindLink
	case os.ModeDir:
		s.Mode |= kindDir
	}
	return s
}

// settled reports whether any change after begun, a time before the stamp was taken, would result in another stamp.
func (s stamp) settled(begun time.Time) bool {
	wait := settleAfter
	if s.Ctime%int64(time.Second) == 0 {
		wait = settleCoarse
	}
	return s.Ctime < begun.Add(-wait).UnixNano()
}

func (s stamp) kind() uint32 { return s.Mode & kindMask }
