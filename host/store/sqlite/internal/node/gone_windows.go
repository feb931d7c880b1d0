package node

import (
	"errors"

	"golang.org/x/sys/windows"
)

// gone reports whether the process with the ID has ended. An ended process exists as long as a handle to it is open.
func gone(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_ACCESS_DENIED) // runs as another user
	}
	defer func() { _ = windows.CloseHandle(process) }() // nothing was written
	event, _ := windows.WaitForSingleObject(process, 0) // after an error it is WAIT_FAILED
	return event == windows.WAIT_OBJECT_0
}
