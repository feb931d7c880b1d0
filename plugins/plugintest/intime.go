// Package plugintest helps tests of carriers: it measures deadlines on busy machines, and holds the plugin of the conformance suite.
package plugintest

import (
	"testing"
	"time"
)

const (
	// tries is how often a measurement that came out too high is made again: the machine may have been busy.
	tries = 4
	// tick is how often Lateness looks.
	tick = 5 * time.Millisecond
	// maxLateness bounds what is forgiven, so that what stops the whole process is not.
	maxLateness = 2 * time.Second
)

// Lateness measures how late the machine is until the function it returns is called, which gives the worst: by how much a timer of this
// process fired too late, at most 2 s. Tests of deadlines add it to what they allow, so that they judge the code and not the load.
func Lateness() func() time.Duration {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	// Owned by the caller; it ends when stop is closed, and the caller waits for what it sends.
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

// InTime checks that the duration that try measures and returns is at least least, and at most most plus the measured delay of the machine.
// A machine may stall, so try runs up to four times, and one run in time is enough.
func InTime(t testing.TB, least, most time.Duration, try func() time.Duration) {
	t.Helper()
	var took, late time.Duration
	for range tries {
		lateness := Lateness()
		took = try()
		late = 2 * lateness()
		if took < least || t.Failed() {
			break
		}
		if took <= most+late {
			t.Logf("took %s, %s to %s were due", took, least, most)
			return
		}
	}
	t.Errorf("it took %s, want %s to %s, and on this machine %s more", took, least, most, late)
}
