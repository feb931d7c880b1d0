package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and set how a terminal behaves.
const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// dropInput forgets what was typed before a question was asked.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
