package process

import (
	"fmt"
	"time"
)

const (
	restartWindow   = 10 * time.Minute
	maxRestartDelay = 30 * time.Second
)

// restarts decides when a process that ended unexpectedly may be restarted.
type restarts struct {
	most  int           // within restartWindow; negative: none at all
	delay time.Duration // of the second
	ends  []time.Time   // within the window
	after time.Time     // no start before
	last  error         // how it ended the last time
	down  bool
}

// ended records that a process ended, or failed to start, at now.
func (r *restarts) ended(now time.Time, how error) {
	kept := r.ends[:0]
	for _, t := range r.ends {
		if now.Sub(t) < restartWindow {
			kept = append(kept, t)
		}
	}
	r.ends, r.last = append(kept, now), how
	r.down = r.down || len(r.ends) > max(r.most, 0)
	r.after = now.Add(backoff(r.delay, len(r.ends)))
}

// backoff returns the delay of restart number n: none for the first, delay for the second, then doubled each time.
func backoff(delay time.Duration, n int) time.Duration {
	if n < 2 || delay < 0 {
		return 0
	}
	for ; n > 2 && delay < maxRestartDelay; n-- {
		delay *= 2
	}
	return min(delay, maxRestartDelay)
}

// wait returns the time from now until the next start is allowed, or an error if none is.
func (r *restarts) wait(now time.Time) (time.Duration, error) {
	if r.down {
		return 0, fmt.Errorf("%w: it ended %d times within %s; the last time: %w; fix the plugin, then enable it or restart tenon",
			ErrDown, len(r.ends), restartWindow, r.last)
	}
	return max(r.after.Sub(now), 0), nil
}
