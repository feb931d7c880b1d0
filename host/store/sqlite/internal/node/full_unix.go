//go:build unix

package node

import (
	"errors"
	"syscall"
)

// IsFull reports whether an error of the system means a full disk or an exceeded quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
