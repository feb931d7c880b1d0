package snapshot

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// looker examines the files of one directory. It uses the directory's descriptor, so that the path is resolved once and not for each file.
type looker struct{ fd int }

// newLooker opens the directory, whose name ends in a separator. The caller closes the looker.
func newLooker(dir string) (looker, error) {
	dir = strings.TrimSuffix(dir, string(os.PathSeparator)) // with the separator a link would be followed
	for {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return looker{-1}, &os.PathError{Op: "open", Path: dir, Err: err}
		}
		return looker{fd}, nil
	}
}

// stamp returns the stamp of the file with this name.
func (l looker) stamp(name string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, &os.PathError{Op: "lstat", Path: name, Err: err}
	}
	s := stamp{Mode: st.Mode & 0o7777, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Inode: st.Ino}
	if kind := st.Mode & kindMask; kind == kindFile || kind == kindLink || kind == kindDir {
		s.Mode |= kind
	}
	return s, nil
}

func (l looker) close() { _ = unix.Close(l.fd) } // nothing was written
