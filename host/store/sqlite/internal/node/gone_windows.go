package node

import "os"

// gone reports whether no process has the number.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	_ = p.Release() // only looked for
	return false
}
