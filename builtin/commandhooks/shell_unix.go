//go:build !windows

package commandhooks

import (
	"context"
	"os/exec"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// shell returns a command for bash, whose dialect the hooks of other programs use, or for sh if bash is not installed. It ignores a bash in
// the project, which commands of the model could have created.
func shell(ctx context.Context, text, project string) *exec.Cmd {
	name, err := projectfs.LookPath("bash", project)
	if err != nil {
		name = "/bin/sh"
	}
	return exec.CommandContext(ctx, name, "-c", text)
}
