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

// enableEscapes makes the terminal understand escape sequences, as those of Unix do.
func enableEscapes(int) bool { return true }

// RawInput makes a terminal hand over each key as it is typed, without showing it, until restore is called. What is written
// to the terminal keeps its meaning: a line feed begins a line.
func RawInput(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	restore = func() { _ = term.Restore(fd, was) } // a terminal that is gone needs nothing
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

// TypedAhead reports whether input waits to be read.
func TypedAhead(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// CatchResize delivers changes of the terminal's size.
func CatchResize() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// suspendGrace is how long suspend waits for the stop that it asked for: the system stops no job that nobody could let go
// on.
const suspendGrace = 200 * time.Millisecond

// Suspend stops the processes of this one's job, as Ctrl-Z does, until the shell lets them go on.
func Suspend() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-goesOn:
	case <-time.After(suspendGrace):
	}
}
