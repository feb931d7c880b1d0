package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropInput discards input that was typed before a question.
func DropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
