package shell

import "syscall"

// processAttributes let the kernel kill an unconfined shell when the host dies before the guard knows the shell. A confined shell has no
// such signal: the thread that starts it ends immediately, which would kill it; see confine.Ruleset.Do.
func processAttributes(confined bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !confined {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}
