package node

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// gone reports whether the process with the ID has ended.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return !errors.Is(err, windows.ERROR_ACCESS_DENIED) // runs as another user
	}
	_ = p.Release()
	return false
}
