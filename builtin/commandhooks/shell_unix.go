//go:build !windows

package commandhooks

import "os/exec"

// shell returns a command that the system's shell runs. PATH may have directories of the project, with another sh.
func shell(text string) *exec.Cmd { return exec.Command("/bin/sh", "-c", text) }
