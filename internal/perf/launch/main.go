//go:build unix

// Command launch runs a program and prints when it began and what it used, as JSON, to stderr. It runs
// between the measuring process and the measured one, because Linux includes the memory of the starting
// process in the peak of the started one, and launch is small.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// usage is what a process used. Package perf reads the fields.
type usage struct {
	Began  int64 // Unix nanoseconds
	CPU    int64 // user and system time in nanoseconds
	PeakKB int64 // largest resident set
	Code   int
}

func main() {
	u, err := launch(os.Args[1], os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stderr).Encode(u)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func launch(program string, args []string) (*usage, error) {
	cmd := exec.Command(program, args...)
	began := time.Now()
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	state := cmd.ProcessState
	u := &usage{
		Began: began.UnixNano(), CPU: int64(state.SystemTime() + state.UserTime()),
		PeakKB: int64(state.SysUsage().(*syscall.Rusage).Maxrss), Code: state.ExitCode(),
	}
	if runtime.GOOS == "darwin" {
		u.PeakKB /= 1024 // these systems report bytes, see getrusage(2)
	}
	return u, nil
}
