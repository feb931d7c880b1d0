package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestDelayCollection changes the whole process, so it is not parallel.
func TestDelayCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100) // tests may run with another
	t.Cleanup(func() { debug.SetGCPercent(before) })
	delayCollection()
	if got := collectionPercent(); got != startGC {
		t.Fatalf("%d percent until the first collection, want %d", got, startGC)
	}
	for deadline := time.Now().Add(30 * time.Second); collectionPercent() == startGC; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the percentage is still that of a start after a collection")
		}
	}
	if got := collectionPercent(); got != 100 {
		t.Errorf("%d percent afterwards, want 100", got)
	}
}

func collectionPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
