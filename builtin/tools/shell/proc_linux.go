package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// processAttributes let the kernel kill the shell when the host dies before the guard knows of it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// sweep kills what left the group (setsid, daemons) of a command that was aborted or timed out; it is
// known by its environment. A command that ended by itself may leave such processes on purpose.
func (g *group) sweep() {
	mark := []byte(tokenVariable + "=" + g.token)
	for range 5 { // what was killed may have started others before
		found := false
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			env, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(env, mark) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}

// onlyZombies reports whether what is left of the group has ended and only waits to be reaped, which the
// first process of a container may never do.
func (g *group) onlyZombies() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// pid (name) state parent group …; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(g.pid) && string(fields[0]) != "Z" && string(fields[0]) != "X" {
			return false
		}
	}
	return len(files) > 0
}
