//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	return &blockingSocket{File: os.NewFile(uintptr(pair[0]), "lines")}, os.NewFile(uintptr(pair[1]), "lines"), nil
}

// blockingSocket is a socket in blocking mode; a pending read occupies a thread. With the runtime's poller, an answer would wake several
// threads, which would look for work on the processor that the other process needs. That would double the time of a call.
type blockingSocket struct {
	*os.File
	until time.Time // the deadline of reads; zero: none
}

// SetReadDeadline sets the deadline of the following reads, in whole milliseconds. Only the reading goroutine may call it.
func (s *blockingSocket) SetReadDeadline(t time.Time) error {
	s.until = t
	return nil
}

// Read reads. After the deadline it returns os.ErrDeadlineExceeded, even if data is available.
func (s *blockingSocket) Read(p []byte) (int, error) {
	if !s.until.IsZero() && !s.readable() {
		return 0, os.ErrDeadlineExceeded
	}
	return s.File.Read(p)
}

// readable waits until a read would not block. It returns false after the deadline.
func (s *blockingSocket) readable() bool {
	for left := time.Until(s.until); left > 0; left = time.Until(s.until) {
		ready, err := 0, os.ErrClosed
		s.control(func(fd int) {
			ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		})
		if err == nil {
			return ready > 0
		}
		if !errors.Is(err, unix.EINTR) {
			return true // the read returns the error
		}
	}
	return false
}

// Close ends the connection, and blocked reads and writes.
func (s *blockingSocket) Close() error {
	s.control(func(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_RDWR) }) // fails if the other end has closed it
	return s.File.Close()
}

// control calls f with the file descriptor, unless the socket is closed.
func (s *blockingSocket) control(f func(fd int)) {
	if conn, err := s.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { f(int(fd)) })
	}
}
