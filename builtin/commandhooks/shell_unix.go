//go:build !windows

package commandhooks

import "os/exec"

// shell returns a command that bash runs, the dialect's shell, or sh if there is none.
func shell(text string) *exec.Cmd {
	name := "sh"
	if bash, err := exec.LookPath("bash"); err == nil {
		name = bash
	}
	return exec.Command(name, "-c", text)
}
