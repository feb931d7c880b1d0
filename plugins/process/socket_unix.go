//go:build unix

package process

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// lineSocket returns the two ends of a connection for lines. The process inherits theirs as file descriptor 3. No other process can open it,
// not even through /proc.
func lineSocket() (ours io.ReadWriteCloser, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no other child inherits the ends
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("socket for lines: %w", err)
	}
	theirs = os.NewFile(uintptr(pair[1]), "lines")
	end := os.NewFile(uintptr(pair[0]), "lines")
	defer func() { _ = end.Close() }() // FileConn copies it
	if ours, err = net.FileConn(end); err != nil {
		_ = theirs.Close() // nothing was written
		return nil, nil, fmt.Errorf("socket for lines: %w", err)
	}
	return ours, theirs, nil
}
