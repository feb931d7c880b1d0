package gitkeep

import (
	"testing"
	"time"
)

// A change after a command has ended is another process's, but a clock that is ahead does not make a command's change one.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := keeper{spans: []span{{to: now.Add(-time.Hour)}}}
	for at, want := range map[time.Duration]bool{-2 * time.Hour: true, -time.Minute: false, time.Minute: true} {
		if got := k.ran(stamp{Changed: now.Add(at).UnixNano()}); got != want {
			t.Errorf("ran at %s = %t, want %t", at, got, want)
		}
	}
}
