package terminal

import (
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
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

// DropInput forgets what was typed before a question was asked.
func DropInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }

// RawInput makes the console hand over each key as it is typed, without showing it, until restore is called.
func RawInput(f *os.File) (restore func(), err error) {
	was, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(f.Fd()), was) }, nil
}

// TypedAhead reports whether input waits to be read, which cannot be told apart from other events of a console.
func TypedAhead(*os.File) bool { return false }

// CatchResize would deliver changes of the console's size, of which there are no signals.
func CatchResize() (<-chan os.Signal, func()) { return nil, func() {} }

// Suspend does nothing: there are no jobs to stop.
func Suspend() {}
