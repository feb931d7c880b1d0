package shell

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/tenonhq/tenon/internal/child"
)

// group is the job object of a command.
type group struct {
	job child.Job
	pid int
}

// guard does nothing: the job objects of Windows replace it.
type guard struct{}

func (guard) expect(*group, string) error { return nil }
func (guard) add(*group)                  {}
func (guard) remove(*group)               {}
func (guard) close() error                { return nil }

// newGroup prepares the command to start suspended, so that it starts nothing before it is in its job.
func newGroup(cmd *exec.Cmd, _ bool) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
	}
	if strings.EqualFold(cmd.Args[1], "/d") { // cmd.exe parses its command line differently
		cmd.SysProcAttr.CmdLine = `/d /s /c "` + cmd.Args[len(cmd.Args)-1] + `"`
	}
	return &group{}
}

func (*group) mark(*exec.Cmd) {}

func (g *group) started(cmd *exec.Cmd) (err error) {
	g.pid = cmd.Process.Pid
	g.job, err = child.Enter(cmd)
	return err
}

func (g *group) gone() bool { return g.job.Gone() }

func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid))
}

func (g *group) kill() { _ = g.job.Kill() }

func (g *group) close() { _ = g.job.Close() } // nothing was written

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
