//go:build unix && !linux

package shell

import "syscall"

func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// onlyZombies returns false: the state of processes is unknown here. If init reaps slowly, the call waits until its time limit.
func (*group) onlyZombies() bool { return false }
