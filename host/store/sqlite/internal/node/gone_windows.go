package node

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// gone reports whether no process has the number.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return !errors.Is(err, windows.ERROR_ACCESS_DENIED) // it runs with other rights
	}
	_ = p.Release() // only looked for
	return false
}
