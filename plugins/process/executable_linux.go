package process

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile is a file in memory that is sealed against every change.
type memoryFile struct{ f *os.File }

// seal makes a memory file of what fill writes. Where the system has no such files or does not run them, it is a private copy.
func seal(name string, fill func(io.Writer) error) (sealed, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 every memory file could be run
		fd, err = unix.MemfdCreate(name, flags)
	}
	if _, proc := os.Stat("/proc/self/fd"); err != nil || proc != nil {
		if err == nil {
			_ = unix.Close(fd)
		}
		return newPrivateCopy(name, fill)
	}
	w := os.NewFile(uintptr(fd), name)
	defer func() { _ = w.Close() }() // a file that is open for writing cannot be run
	if err := fill(w); err != nil {
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(w.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("seal the copy of %s: %w", name, err)
	}
	r, err := os.Open(fdPath(w))
	if err != nil {
		return nil, err
	}
	return &memoryFile{r}, nil
}

// path names the file by its descriptor, which the child has until it executes it, and not longer.
func (m *memoryFile) path() string { return fdPath(m.f) }
func (m *memoryFile) close() error { return m.f.Close() }

func fdPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func isExecutable(info os.FileInfo) bool { return info.Mode()&0o111 != 0 }
