//go:build unix

package process_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
)

func killRounds(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("TENON_KILL_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 20
}

// A process that is killed between calls is back for the next one.
func TestKilledBetweenCalls(t *testing.T) {
	t.Parallel()
	p := started(t, unbounded(), guestSpec(t, "plain"), nil)
	var took []time.Duration
	began := time.Now()
	pidOf(t, p)
	first := time.Since(began) // a start on this machine
	lateness := plugintest.Lateness()
	for round := range killRounds(t) {
		pid := pidOf(t, p)
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// A call may reach the process just before it dies; it fails, and the next one does not.
		for try := 0; ; try++ {
			_, err := callHook(t, p, "warm")
			if err == nil {
				break
			}
			if !errors.Is(err, process.ErrEnded) || try == 100 {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median, limit := took[len(took)/2], 2*time.Second+first+2*lateness()
	t.Logf("back after %s (median), %s (longest)", median, took[len(took)-1])
	if median > limit {
		t.Errorf("back after %s (median), want %s at most", median, limit)
	}
}

// Calls that run when the process is killed fail immediately and say how it ended.
func TestKilledDuringCalls(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 2)
	p := started(t, unbounded(), guestSpec(t, "plain"), &testHost{log: slog.New(announce{slog.DiscardHandler, "patience", arrived})})
	var longest time.Duration
	for round := range killRounds(t) {
		pid := pidOf(t, p)
		ended := make(chan error, 2)
		go func() {
			_, err := callTool(t, p, "wait", `{}`, &toolHost{progress: func(title string, _ sdk.Object) { arrived <- title }})
			ended <- err
		}()
		go func() {
			_, err := callHook(t, p, "patient")
			ended <- err
		}()
		<-arrived
		<-arrived
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := <-ended
			if !errors.Is(err, process.ErrEnded) || !strings.Contains(err.Error(), "guest-plain") || !strings.Contains(err.Error(), "signal: killed") {
				t.Errorf("round %d: error %v does not say who ended how", round, err)
			}
			longest = max(longest, time.Since(began))
		}
	}
	t.Logf("calls failed after %s at most", longest) // one that waited for its own deadline would say so
}

// A cancelled hook that has returned leaves the process its whole time to stop.
func TestCloseAfterCancel(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 1)
	spec := guestSpec(t, "longclose")
	p := started(t, process.Options{StopTimeout: 4 * longClose * 9 / 10}, spec, &testHost{log: slog.New(announce{slog.DiscardHandler, "patience", begun})})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := callHookIn(ctx, t, p, "patient")
		ended <- err
	}()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(spec.DataDir, "closed")); err != nil {
		t.Errorf("the process did not stop properly: %v", err)
	}
}

// How a process ends by itself is in the errors of the calls it was busy with, not in another warning, and the next call finds a new one.
func TestCrashes(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"crash":   "exit status 2: panic: in a goroutine",
		"recurse": "fatal error: stack overflow",
		"exit":    "exit status 7",
	}
	for hook, want := range tests {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			log := &logged{}
			p := started(t, unbounded(), guestSpec(t, "plain"), &testHost{log: log.logger()})
			_, err := callHook(t, p, hook)
			if !errors.Is(err, process.ErrEnded) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "guest-plain") {
				t.Errorf("error %v, want %q", err, want)
			}
			if _, err := callHook(t, p, "warm"); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if log.wait(t, "process ended"); strings.Contains(log.String(), "level=WARN") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// An end that interrupts no call is a warning: nothing else shows it.
func TestUnnoticedEnd(t *testing.T) {
	t.Parallel()
	log := &logged{}
	p := started(t, unbounded(), guestSpec(t, "plain"), &testHost{log: log.logger()})
	if err := syscall.Kill(pidOf(t, p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	log.wait(t, `level=WARN msg="process ended" err="signal: killed"`)
}

// A process that keeps ending is not started for ever, and each start waits longer than the one before.
func TestRestartBudget(t *testing.T) {
	t.Parallel()
	p := started(t, process.Options{Restarts: 2, RestartDelay: 50 * time.Millisecond}, guestSpec(t, "plain"), nil)
	for range 3 {
		if _, err := callHook(t, p, "exit"); !errors.Is(err, process.ErrEnded) {
			t.Fatalf("error %v", err)
		}
	}
	_, err := callHook(t, p, "warm")
	if !errors.Is(err, process.ErrDown) || !strings.Contains(err.Error(), "ended 3 times within 10m0s; the last time: exit status 7") {
		t.Errorf("error %v", err)
	}
}

// A call that cannot wait for the restart says when it will be.
func TestRestartTooLate(t *testing.T) {
	t.Parallel()
	p := started(t, process.Options{RestartDelay: time.Hour}, guestSpec(t, "plain"), nil)
	for range 2 {
		if _, err := callHook(t, p, "exit"); !errors.Is(err, process.ErrEnded) {
			t.Fatalf("error %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // and the restart is 30 s away
	defer cancel()
	_, err := callHookIn(ctx, t, p, "warm")
	if err == nil {
		t.Fatal("no error")
	}
	before, rest, found := strings.Cut(err.Error(), "exit status 7; next start in ")
	if !found {
		t.Fatalf("error %v, want the restart's time after %q", err, before)
	}
	// The time that is left runs while the call is made. A call that waited for the restart would find none left.
	if left, err := time.ParseDuration(rest); err != nil || left > 30*time.Second || left <= 0 {
		t.Errorf("next start in %q: %v, %v; want what is left of 30s", rest, left, err)
	}
}

// A hook that hangs costs its deadline and delays no other call; when it continues for too long, its process is ended.
func TestHang(t *testing.T) {
	t.Parallel()
	p := started(t, unbounded(), guestSpec(t, "plain"), nil)
	pid := pidOf(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := callHookIn(ctx, t, p, "hang")
	if !errors.Is(err, context.DeadlineExceeded) { // one that waited for the hook would see its process end
		t.Errorf("error %v", err)
	}
	if _, err := callHook(t, p, "warm"); err != nil {
		t.Errorf("a call beside it: %v", err)
	}
	if _, err := callTool(t, p, "wait", `{}`, nil); !errors.Is(err, process.ErrEnded) || !strings.Contains(err.Error(), "a hook kept running for 5s") {
		t.Errorf("a call until the process is ended: %v", err)
	}
	if again := pidOf(t, p); again == pid {
		t.Error("the process of the hook still runs")
	}
}

// A process that was stopped with SIGSTOP answers nothing, not even its own end.
func TestFrozen(t *testing.T) {
	t.Parallel()
	p := started(t, process.Options{StopTimeout: 200 * time.Millisecond}, guestSpec(t, "plain"), nil)
	pid := pidOf(t, p)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for calls := 0; calls < 200; { // more than fit into any buffer on the way
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := callHookIn(ctx, t, p, "warm")
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			calls++
		case err == nil: // the signal is still on its way
			calls = 0
		default:
			t.Fatalf("error %v", err)
		}
	}
	if err := p.Close(t.Context()); err != nil { // the process would never end by itself
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process after Close: %v", err)
	}
}
