//go:build unix

package node

import (
	"errors"

	"golang.org/x/sys/unix"
)

// gone reports whether the process with the ID has ended.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
