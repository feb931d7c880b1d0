//go:build unix

package process

import (
	"fmt"
	"os"
	"syscall"
)

// lineSocket returns the two ends of a connection for lines. The process gets theirs as file descriptor 3. Nothing else can reach it, not
// even by way of /proc: a socket cannot be opened there.
func lineSocket() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no other child inherits the ends
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = syscall.SetNonblock(pair[0], true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("socket for lines: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "lines"), os.NewFile(uintptr(pair[1]), "lines"), nil
}
