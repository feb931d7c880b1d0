package sdk

import "testing"

// TestIDsWhenTheClockStepsBack needs to set the clock, which New does not let anybody do.
func TestIDsWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	var ids IDs
	last := uint64(0)
	for i, millis := range []uint64{1000, 1000, 900, 0, 1000, 1001, 5, 2000} {
		n := ids.next(millis)
		if n <= last {
			t.Errorf("call %d at %d: %d after %d", i, millis, n, last)
		}
		last = n
	}
	if want := uint64(2000*4096 + 1); last != want {
		t.Errorf("in a new millisecond: %d, want %d", last, want)
	}
}
