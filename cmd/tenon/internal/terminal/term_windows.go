package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes enables escape sequences. It returns false if the console does not support them.
func enableEscapes(fd int) bool {
	var mode uint32
	handle := windows.Handle(fd)
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// DropInput discards input that was typed before a question.
func DropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
