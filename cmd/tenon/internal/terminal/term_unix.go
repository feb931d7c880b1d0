//go:build unix

package terminal

import (
	"errors"
	"syscall"
)

// enableEscapes enables escape sequences; terminals of Unix always support them.
func enableEscapes(int) bool { return true }

// ReaderEnded reports whether a write failed because the program that reads the output ended.
func ReaderEnded(err error) bool { return errors.Is(err, syscall.EPIPE) }
