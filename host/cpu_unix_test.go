//go:build unix

package host_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time of this process so far, of all threads, in user and system mode.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
