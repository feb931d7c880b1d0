//go:build !linux

package snapshot

import (
	"os"
	"syscall"
)

// looker examines the files of one directory.
type looker struct{ dir string }

// newLooker takes the directory's name, which ends in a separator. The caller closes the looker.
func newLooker(dir string) (looker, error) {
	info, err := os.Lstat(dir[:len(dir)-1]) // with the separator a link would be followed
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	return looker{dir}, err
}

// stamp returns the stamp of the file with this name.
func (l looker) stamp(name string) (stamp, error) {
	info, err := os.Lstat(l.dir + name)
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func (l looker) close() {}
