package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processNotFound is the exit code of taskkill for an unknown process.
const processNotFound = 128

func prepare(attr *syscall.SysProcAttr) {
	attr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	attr.HideWindow = true
}

// OwnSession does nothing: Windows has no sessions.
func OwnSession(*exec.Cmd) {}

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// Job is a job object. Closing it, which the system does when this process ends, kills all processes in it. The zero value has no job object.
type Job struct{ handle windows.Handle }

// Enter puts a command that was started with windows.CREATE_SUSPENDED, and so has started nothing yet, into a new job and resumes it. After an
// error the command is killed.
func Enter(cmd *exec.Cmd) (Job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	j := Job{handle}
	if err == nil {
		info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
		info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
		_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	}
	if err == nil {
		ended := cmd.Process.WithHandle(func(process uintptr) {
			if err = windows.AssignProcessToJobObject(handle, windows.Handle(process)); err == nil {
				if status, _, _ := resumeProcess.Call(process); status != 0 {
					err = fmt.Errorf("resume: status %#x", status)
				}
			}
		})
		err = errors.Join(ended, err)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return Job{}, errors.Join(fmt.Errorf("job object: %w", err), j.Close())
	}
	return j, nil
}

// Gone reports whether no process of the job is left.
func (j Job) Gone() bool {
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodUserTime, ThisPeriodKernelTime int64
		PageFaults, TotalProcesses, ActiveProcesses, TerminatedProcesses         uint32
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses == 0
}

// Kill kills all processes of the job.
func (j Job) Kill() error { return windows.TerminateJobObject(j.handle, 1) }

// Close kills all processes of the job and releases it.
func (j Job) Close() error {
	if j.handle == 0 {
		return nil
	}
	return windows.CloseHandle(j.handle)
}

// jobs are the jobs of the commands that Start started.
var jobs = struct {
	sync.Mutex
	of map[*exec.Cmd]Job
}{of: map[*exec.Cmd]Job{}}

// begin starts a command in a job, which leave closes.
func begin(cmd *exec.Cmd) (leave func() error, err error) {
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	job, err := Enter(cmd)
	if err != nil {
		_ = cmd.Wait() // killed
		return nil, err
	}
	jobs.Lock()
	defer jobs.Unlock()
	jobs.of[cmd] = job
	return func() error {
		jobs.Lock()
		defer jobs.Unlock()
		delete(jobs.of, cmd)
		return job.Close()
	}, nil
}

// Kill kills the job of a command that Start started, even if the command itself has ended. For other commands it kills the process tree:
// on Windows a process group cannot be killed by a signal. It returns nil if the processes have ended.
func Kill(cmd *exec.Cmd) error {
	jobs.Lock()
	if job, ok := jobs.of[cmd]; ok {
		defer jobs.Unlock()
		return job.Kill()
	}
	jobs.Unlock()
	p := cmd.Process
	if p == nil || errors.Is(p.WithHandle(func(uintptr) {}), os.ErrProcessDone) { // another process may have its number
		return nil
	}
	root, err := windows.GetSystemDirectory()
	if err != nil {
		return fmt.Errorf("end process tree %d: %w", p.Pid, err)
	}
	err = exec.Command(filepath.Join(root, "taskkill.exe"), "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == processNotFound {
		return nil
	}
	// The tree may contain a protected process; at least kill its root.
	if killErr := p.Kill(); killErr != nil && !errors.Is(killErr, os.ErrProcessDone) {
		return fmt.Errorf("end process tree %d: %w", p.Pid, errors.Join(err, killErr))
	}
	return nil
}

// Terminate is Kill: Windows has no SIGTERM.
func Terminate(cmd *exec.Cmd) error { return Kill(cmd) }
