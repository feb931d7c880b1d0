package snapshot

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// Of LockFileEx, see https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-lockfileex.
const (
	lockExclusive  = 2
	lockAtOnce     = 1
	errorViolation = syscall.Errno(33)
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// tryLock takes the lock of a file, which ends when the file is closed; false when another process has it.
func tryLock(f *os.File) (bool, error) {
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(f.Fd(), lockExclusive|lockAtOnce, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errorViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}
