package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes makes the console understand escape sequences; false when it is too old for them.
func enableEscapes(fd int) bool {
	var mode uint32
	handle := windows.Handle(fd)
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// dropInput forgets what was typed before a question was asked.
func dropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
