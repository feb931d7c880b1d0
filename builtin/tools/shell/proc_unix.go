//go:build unix

package shell

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
)

// tokenVariable marks all processes of a call, including those that leave its group.
const tokenVariable = "TENON_SHELL_CALL"

// group is the process group of a command, which is also its session: without a terminal, programs fail instead of waiting for input.
type group struct {
	pid   int
	token string
	guard int // process ID of its guard; 0: none
}

// newGroup prepares the command to start in its own group.
func newGroup(cmd *exec.Cmd, confined bool) *group {
	g := &group{token: rand.Text()}
	cmd.SysProcAttr = processAttributes(confined)
	return g
}

// mark puts the token into the environment of the command.
func (g *group) mark(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], tokenVariable+"="+g.token)
}

func (g *group) started(cmd *exec.Cmd) error {
	g.pid = cmd.Process.Pid
	return nil
}

// gone reports whether no process of the group is left. It reaps orphans, which are children of this process on Linux. The shell itself must
// have been waited for.
func (g *group) gone() bool {
	for {
		if pid, err := syscall.Wait4(-g.pid, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return syscall.Kill(-g.pid, 0) == syscall.ESRCH
		}
	}
}

func (g *group) terminate() {
	_ = syscall.Kill(-g.pid, syscall.SIGTERM)
	_ = syscall.Kill(-g.pid, syscall.SIGCONT) // stopped processes handle no signals
}

func (g *group) kill() { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }

func (g *group) close() {}

// exitCode returns the exit status as in shells: 128 plus the signal.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
