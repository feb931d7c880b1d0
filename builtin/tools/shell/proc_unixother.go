//go:build unix && !linux

package shell

import "syscall"

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// sweep does nothing: the environment of other processes cannot be read here.
func (*group) sweep() {}

// onlyZombies is unknown here; an init that is slow to reap costs the grace.
func (*group) onlyZombies() bool { return false }
