//go:build unix

package node

import (
	"errors"

	"golang.org/x/sys/unix"
)

// gone reports whether no process has the number.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
