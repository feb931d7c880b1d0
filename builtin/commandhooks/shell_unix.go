//go:build !windows

package commandhooks

import "os/exec"

// shell returns a command that the system's shell runs.
func shell(text string) *exec.Cmd { return exec.Command("sh", "-c", text) }
