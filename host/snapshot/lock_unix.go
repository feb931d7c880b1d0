//go:build !windows

package snapshot

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file, which ends when the file is closed; false when another process has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
