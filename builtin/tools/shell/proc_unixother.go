//go:build unix && !linux

package shell

import "syscall"

func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
