package child

import (
	"os/exec"
	"syscall"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// noParentSignal takes the parent death signal from a command that Prepare made.
func noParentSignal(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = 0 }
