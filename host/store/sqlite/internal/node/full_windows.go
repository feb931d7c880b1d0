package node

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsFull reports whether an error of the system means a full disk or an exceeded quota.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
