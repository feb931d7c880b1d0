//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// enableEscapes enables escape sequences; terminals of Unix always support them.
func enableEscapes(int) bool { return true }

// RawInput makes a terminal deliver each key as it is typed, without echo, until restore is called. Output is not affected: a line
// feed starts a new line.
func RawInput(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	restore = func() { _ = term.Restore(fd, was) } // fails only if the terminal is gone
	now, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		now.Oflag |= unix.OPOST | unix.ONLCR
		err = unix.IoctlSetTermios(fd, setTermios, now)
	}
	if err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// TypedAhead reports whether unread input is available.
func TypedAhead(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// CatchResize delivers changes of the terminal's size until stop is called.
func CatchResize() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// suspendGrace limits how long Suspend waits to be stopped: the system does not stop a job that no shell could continue.
const suspendGrace = 200 * time.Millisecond

// Suspend stops the processes of this job, as Ctrl-Z does, until the shell continues them.
func Suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-continued:
	case <-time.After(suspendGrace):
	}
}
