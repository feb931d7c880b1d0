//go:build unix && !linux

package shell

import "syscall"

func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// onlyZombies is unknown here; an init that is slow to reap costs the grace.
func (*group) onlyZombies() bool { return false }
