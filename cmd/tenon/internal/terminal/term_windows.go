package terminal

import (
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
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

// RawInput makes the console deliver each key as it is typed, without echo, until restore is called.
func RawInput(f *os.File) (restore func(), err error) {
	was, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(f.Fd()), was) }, nil
}

// TypedAhead always returns false: a console does not distinguish input from other events.
func TypedAhead(*os.File) bool { return false }

// CatchResize does nothing: Windows has no signal for it.
func CatchResize() (<-chan os.Signal, func()) { return nil, func() {} }

// Suspend does nothing: Windows has no job control.
func Suspend() {}
