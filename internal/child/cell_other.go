//go:build !linux

package child

import "os/exec"

// noParentSignal is not called: processes are confined on Linux only.
func noParentSignal(*exec.Cmd) {}
