package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and set how a terminal behaves.
const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// DropInput discards input that was typed before a question.
func DropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
