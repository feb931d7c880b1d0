//go:build unix

package jsonline

import (
	"io"
	"syscall"
)

// writerNow returns a function that writes as much as the socket accepts without waiting, and returns the number of bytes; nil if stream is not a
// socket. Errors count as 0: the next write, or the reader, gets them.
func writerNow(stream io.Writer) func(line []byte) int {
	s, ok := stream.(syscall.Conn)
	if !ok {
		return nil
	}
	conn, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return func(line []byte) (n int) {
		_ = conn.Write(func(fd uintptr) bool { // fails if the stream is closed
			n, _ = syscall.SendmsgN(int(fd), line, nil, nil, syscall.MSG_DONTWAIT) // not for pipes
			return true
		})
		return max(n, 0)
	}
}
