//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and set how a terminal behaves.
const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

// DropInput discards input that was typed before a question.
func DropInput(f *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
