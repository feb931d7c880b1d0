package wasm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// Hooks of faults.wat by their number.
const (
	faultNone        = 0
	faultLoop        = 2
	faultFib         = 3
	faultStack       = 4
	faultTail        = 5
	faultError       = 6
	faultBulk        = 20
	faultRandom      = 22
	faultStdout      = 23
	faultHostCall    = 26
	faults           = 28
	overshoot        = 200 * time.Millisecond
	deadlineOfFaults = 100 * time.Millisecond
)

func faultPlugin(t testing.TB, r *wasm.Runtime) sdk.Plugin {
	t.Helper()
	return started(t, r, remote.Unit{
		Program:     module("faults.wasm"),
		Description: sdk.Description{Hooks: gates(faults), Runtime: &sdk.Runtime{MemoryMB: 64}},
	}, host{})
}

// Every fault is an error that says what happened, and the next call works.
func TestFaults(t *testing.T) {
	t.Parallel()
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	for name, c := range map[string]struct {
		hook int
		is   error
		text string
	}{
		"trap":                      {1, wasm.ErrTrap, "unreachable"},
		"stack overflow":            {faultStack, wasm.ErrTrap, "stack overflow"},
		"error":                     {faultError, nil, "it went wrong"},
		"no JSON":                   {7, sdk.ErrWire, "invalid character"},
		"output out of bounds":      {8, wasm.ErrTrap, "1000 bytes at 131000 are outside"},
		"output of negative length": {9, wasm.ErrAnswer, "an output of 4294967295 bytes; the limit is 8388608"},
		"output at negative place":  {10, wasm.ErrTrap, "outside of the guest's memory"},
		"input out of bounds":       {11, wasm.ErrTrap, "does not fit"},
		"output too large":          {12, wasm.ErrAnswer, "an output of 9000000 bytes"},
		"unknown result":            {13, wasm.ErrAnswer, "returned 99"},
		"memory bomb":               {14, wasm.ErrTrap, "out of bounds memory access"},
		"log out of bounds":         {16, wasm.ErrTrap, "log: 32 bytes"},
		"host_call out of bounds":   {17, wasm.ErrTrap, "host_call: name"},
		"host_read out of bounds":   {18, wasm.ErrTrap, "host_read(131071)"},
		"exit":                      {19, wasm.ErrTrap, "exit code 3"},
		"table bomb":                {21, wasm.ErrAnswer, "returned 99"},
		"indirect call of nothing":  {24, wasm.ErrTrap, "invalid table access"},
		"division by zero":          {25, wasm.ErrTrap, "integer divide by zero"},
		"error without a text":      {27, nil, "without a text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t.Context(), p, c.hook, name)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error = %v, want %v with %q", err, c.is, c.text)
			}
			if got, err := ask(t.Context(), p, faultNone, name); err != nil || got.Verdict != sdk.VerdictAllow {
				t.Errorf("the call after it = %v, %v", got, err)
			}
		})
	}
}

// The deadline holds whatever the guest does.
func TestDeadline(t *testing.T) { // not beside others: it measures time
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	if _, err := ask(t.Context(), p, faultNone, ""); err != nil {
		t.Fatal(err)
	}
	for name, hook := range map[string]int{
		"loop": faultLoop, "recursion": faultFib, "tail calls": faultTail, "log flood": 15, "bulk": faultBulk,
		"random": faultRandom, "stdout flood": faultStdout, "host_call": faultHostCall,
	} {
		t.Run(name, func(t *testing.T) {
			endsAtDeadline(t, func(ctx context.Context) error {
				_, err := ask(ctx, p, hook, name)
				return err
			})
		})
	}
}

// endsAtDeadline checks that a call which would go on for ever ends at its deadline and says so.
func endsAtDeadline(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	plugintest.InTime(t, 0, deadlineOfFaults+overshoot, func() time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), deadlineOfFaults)
		defer cancel()
		start := time.Now()
		err := call(ctx)
		took := time.Since(start)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		return took
	})
}

// A guest ends soon after its caller gives up, without a deadline.
func TestCancel(t *testing.T) {
	t.Parallel()
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := ask(ctx, p, faultNone, ""); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := ask(ctx, p, faultLoop, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}

// Guests that spin stop neither the garbage collector nor each other.
func TestSpinnersDoNotFreeze(t *testing.T) { // not beside others: it measures time
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	if _, err := ask(t.Context(), p, faultNone, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	spinners := 2 * runtime.GOMAXPROCS(0)
	for n := range spinners {
		go func() {
			_, err := ask(ctx, p, []int{faultLoop, faultFib, faultBulk, faultTail}[n%4], "spin")
			done <- err
		}()
	}
	for range 3 {
		runtime.GC() // does not return when a guest cannot be interrupted
		if _, err := ask(t.Context(), p, faultNone, "other"); err != nil {
			t.Errorf("another guest: %v", err)
		}
	}
	cancel()
	for range spinners {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("spinner ended with %v", err)
		}
	}
}
