//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pgid = 0
	dieWithParent(cmd.SysProcAttr)
}

// ownSession keeps signals of the terminal from the command.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func kill(p *os.Process) error      { return signalGroup(p, syscall.SIGKILL) }
func terminate(p *os.Process) error { return signalGroup(p, syscall.SIGTERM) }

func signalGroup(p *os.Process, sig syscall.Signal) error {
	err := syscall.Kill(-p.Pid, sig)
	// Some systems return EPERM for a group in which only zombies are left.
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && syscall.Kill(p.Pid, 0) != nil {
		return nil
	}
	return fmt.Errorf("send %v to process group %d: %w", sig, p.Pid, err)
}
