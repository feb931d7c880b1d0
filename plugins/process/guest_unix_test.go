//go:build unix

package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// holdFile names a FIFO in the environment of a guest: its end is read when the guest and what it started are gone.
const holdFile = "TENON_TEST_HOLD"

// hold opens the FIFO, and leaves it open.
func hold() {
	if path := os.Getenv(holdFile); path != "" {
		if _, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// startChild starts a process that does not end by itself, with the plugin's standard streams and the FIFO.
func startChild() (string, error) {
	f, err := os.OpenFile(os.Getenv(holdFile), os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr, cmd.Stdin = f, os.Stderr, os.Stdin
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return fmt.Sprint(cmd.Process.Pid), f.Close()
}

// descriptors lists the open files of this process.
func descriptors() (string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	var out []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil {
			out = append(out, target)
		}
	}
	return strings.Join(out, "\n"), err
}

func ignoreTerminate() { signal.Ignore(syscall.SIGTERM) }
