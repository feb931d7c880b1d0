//go:build !windows

package commandhooks

import (
	"context"
	"os/exec"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// shell returns a command that bash runs, whose dialect the hooks of other programs use, or sh if there is none. A bash in the project, which
// commands of the model could put there, does not count.
func shell(ctx context.Context, text, project string) *exec.Cmd {
	name, err := projectfs.LookPath("bash", project)
	if err != nil {
		name = "/bin/sh"
	}
	return exec.CommandContext(ctx, name, "-c", text)
}
