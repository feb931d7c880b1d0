package gitkeep

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp changes when a file changes. Programs cannot set the change time without setting the clock. The zero value means that the file
// does not exist.
type stamp struct {
	dev, ino     uint64
	size         int64
	mode         uint32
	mtime, ctime unix.Timespec
}

func stampOf(path string) stamp {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stamp{}
	}
	return stamp{uint64(st.Dev), st.Ino, st.Size, st.Mode, st.Mtim, st.Ctim}
}

// identity returns the part that does not change with the content of a directory.
func (s stamp) identity() stamp { return stamp{dev: s.dev, ino: s.ino} }

// changed returns when the file changed last.
func (s stamp) changed() time.Time { return time.Unix(s.ctime.Unix()) }

// clock returns the time that the system records for a file that changes now. It is the time of the last tick, up to 10 ms ago.
func clock() time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts); err != nil {
		return time.Now() // a kernel older than 2.6.32
	}
	return time.Unix(ts.Unix())
}
