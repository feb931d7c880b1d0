package shell

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// group is the job object of a command. Closing it, which the system does when the host dies, kills all processes in it.
type group struct {
	job windows.Handle
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
	if strings.EqualFold(cmd.Args[1], "/d") { // cmd reads its command line in its own way
		cmd.SysProcAttr.CmdLine = `/d /s /c "` + cmd.Args[len(cmd.Args)-1] + `"`
	}
	return &group{}
}

func (*group) mark(*exec.Cmd) {}

func (g *group) started(cmd *exec.Cmd) error {
	g.pid = cmd.Process.Pid
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("job object: %w", err)
	}
	g.job = job
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("job object: %w", err)
	}
	var inner error
	err = cmd.Process.WithHandle(func(handle uintptr) {
		if inner = windows.AssignProcessToJobObject(job, windows.Handle(handle)); inner == nil {
			if status, _, _ := resumeProcess.Call(handle); status != 0 {
				inner = fmt.Errorf("resume: status %#x", status)
			}
		}
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("job object: %w", err)
	}
	return nil
}

// gone reports whether no process of the job is left.
func (g *group) gone() bool {
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodUserTime, ThisPeriodKernelTime int64
		PageFaults, TotalProcesses, ActiveProcesses, TerminatedProcesses         uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses == 0
}

func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid))
}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g *group) close() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
