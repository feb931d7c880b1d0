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

func prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	cmd.SysProcAttr.HideWindow = true
}

// ownSession is not called: guards need a Unix system.
func ownSession(*exec.Cmd) {}

// kill kills the process tree: on Windows a process group cannot be killed by a signal.
func kill(p *os.Process) error {
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

func terminate(p *os.Process) error { return kill(p) }
