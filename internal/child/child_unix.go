//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func prepare(attr *syscall.SysProcAttr) {
	attr.Setpgid, attr.Pgid = true, 0
	dieWithParent(attr)
}

// begin starts a command. leave does nothing: the caller kills the command's group.
func begin(cmd *exec.Cmd) (leave func() error, err error) {
	return func() error { return nil }, retried(cmd.Start)
}

// OwnSession keeps the terminal and its signals from the command. Call it after Prepare. A program that asks the user on the terminal then fails:
// it could not read an answer from the background, and would wait forever.
func OwnSession(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false // its leader also leads a group
}

// Kill kills the whole group of a started command (SIGKILL). It returns nil if the group has ended. It may be called before and
// shortly after cmd.Wait; later the system may reuse the number of an empty group.
func Kill(cmd *exec.Cmd) error { return signalGroup(cmd.Process, syscall.SIGKILL) }

// Terminate sends SIGTERM to the whole group of a started command; the caller waits and then calls Kill. It returns nil if the group has
// ended.
func Terminate(cmd *exec.Cmd) error { return signalGroup(cmd.Process, syscall.SIGTERM) }

func signalGroup(p *os.Process, sig syscall.Signal) error {
	if p == nil {
		return nil
	}
	err := syscall.Kill(-p.Pid, sig)
	// Some systems return EPERM for a group in which only zombies are left.
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && syscall.Kill(p.Pid, 0) != nil {
		return nil
	}
	return fmt.Errorf("send %v to process group %d: %w", sig, p.Pid, err)
}
