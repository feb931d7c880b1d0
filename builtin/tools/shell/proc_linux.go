package shell

import (
	"path/filepath"
	"strconv"
	"syscall"
)

// processAttributes let the kernel kill an unconfined shell when the host dies before the guard knows the shell. A confined shell has no
// such signal: the thread that starts it ends immediately, which would kill it; see confine.Ruleset.Do.
func processAttributes(confined bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !confined {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// onlyZombies reports whether the remaining processes of the group have ended and only wait to be reaped, which the first process of a
// container may never do.
func (g *group) onlyZombies() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		fields := statOf(file)
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(g.pid) && string(fields[0]) != "Z" && string(fields[0]) != "X" {
			return false
		}
	}
	return len(files) > 0
}
