//go:build !windows

package commandhooks

import (
	"os/exec"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// shell returns a command that bash runs, the dialect's shell, or sh if there is none. PATH may have directories of the project, with another
// bash.
func shell(text, project string) *exec.Cmd {
	name := "/bin/sh"
	if bash, err := projectfs.LookPath("bash", project); err == nil {
		name = bash
	}
	return exec.Command(name, "-c", text)
}
