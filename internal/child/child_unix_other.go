//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing: the system has no parent death signal. See the package's comment.
func dieWithParent(*syscall.SysProcAttr) {}
