// Package plugintest helps tests of carriers: it measures deadlines on busy machines, and names the directory of compiled modules.
package plugintest

import (
	"testing"
	"time"
)

const (
	// tries is the maximum number of measurements: one may be too high because the machine is busy.
	tries = 4
	// tick is the interval of Lateness.
	tick = 5 * time.Millisecond
	// maxLateness is the maximum lateness, so that stopping the whole process is not excused.
	maxLateness = 2 * time.Second
)

// Lateness measures the delay of timers until the returned function is called, which returns the largest one, at most 2 s. Tests of deadlines
// allow it in addition, so that they depend less on the load of the machine.
func Lateness() func() time.Duration {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	// It ends when stop is closed; the caller waits for its result.
	go func() {
		var late time.Duration
		for {
			begin := time.Now()
			select {
			case <-stop:
				worst <- min(max(late, time.Since(begin)-tick), maxLateness)
				return
			case <-time.After(tick):
				late = max(late, time.Since(begin)-tick)
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}

// InTime checks that the duration that try measures and returns is from lowest to highest, plus the measured delay of the machine.
// A machine may stall, so try runs up to four times, and one run in time is enough.
func InTime(t testing.TB, lowest, highest time.Duration, try func() time.Duration) {
	t.Helper()
	var took, late time.Duration
	for range tries {
		lateness := Lateness()
		took = try()
		late = 2 * lateness()
		if took < lowest || t.Failed() {
			break
		}
		if took <= highest+late {
			t.Logf("took %s, %s to %s were due", took, lowest, highest)
			return
		}
	}
	t.Errorf("it took %s, want %s to %s, and on this machine %s more", took, lowest, highest, late)
}
