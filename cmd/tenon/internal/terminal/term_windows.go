package terminal

import (
	"errors"
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

// ReaderEnded reports whether a write failed because the program that reads the output ended.
func ReaderEnded(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
