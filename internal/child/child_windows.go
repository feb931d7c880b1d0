package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

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

// Kill kills the process tree of a started command: on Windows a process group cannot be killed by a signal. It returns nil if the processes have
// ended.
func Kill(cmd *exec.Cmd) error {
	p := cmd.Process
	if p == nil {
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
