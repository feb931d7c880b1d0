package plugintest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/plugintest"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Failed() bool          { return r.failed }

// A call that is always late fails, a call that is in time once passes, and a call that is too early fails immediately.
func TestInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		least, most time.Duration
		waits       []time.Duration // of the tries; those after the last take no time
		failed      bool
		tries       int
	}{
		"in time":     {0, time.Second, nil, false, 1},
		"late once":   {0, time.Second, []time.Duration{2 * time.Second}, false, 2},
		"always late": {0, time.Second, []time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}, true, 4},
		"too early":   {time.Second, time.Minute, nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, n := &recorder{TB: t}, 0
				plugintest.InTime(r, c.least, c.most, func() time.Duration {
					begin := time.Now()
					if n++; n <= len(c.waits) {
						time.Sleep(c.waits[n-1])
					}
					return time.Since(begin)
				})
				if r.failed != c.failed || n != c.tries {
					t.Errorf("failed %t after %d tries, want %t after %d", r.failed, n, c.failed, c.tries)
				}
			})
		})
	}
}
