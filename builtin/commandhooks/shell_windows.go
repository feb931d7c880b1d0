package commandhooks

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"regexp"
	"syscall"
)

// variable matches ${NAME}, which commands of plugin folders use.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// shell returns a command that cmd.exe runs. It passes the text verbatim: cmd.exe has other quoting rules than package exec.
func shell(ctx context.Context, text, _ string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("COMSPEC"), "cmd.exe"))
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + variable.ReplaceAllString(text, "%$1%") + `"`}
	return cmd
}
