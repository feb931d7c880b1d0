package commandhooks

import (
	"os"
	"os/exec"
	"regexp"
	"syscall"
)

// variable is ${NAME}, as commands of plugin folders write it for sh.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// shell makes a command that cmd.exe runs. It gets the text as it is: cmd.exe has other rules of quoting than exec.
func shell(text string) *exec.Cmd {
	name := os.Getenv("COMSPEC")
	if name == "" {
		name = "cmd.exe"
	}
	cmd := exec.Command(name)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + variable.ReplaceAllString(text, "%$1%") + `"`}
	return cmd
}
