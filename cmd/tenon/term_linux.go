package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput forgets what was typed before a question was asked.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
