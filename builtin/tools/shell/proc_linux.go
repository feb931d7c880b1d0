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
