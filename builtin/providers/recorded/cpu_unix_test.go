//go:build unix

package recorded_test

import "syscall"

// cpu returns the CPU time the process took so far, in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
