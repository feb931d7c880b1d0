//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and set how a terminal behaves.
const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

// dropInput forgets what was typed before a question was asked.
func dropInput(f *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
