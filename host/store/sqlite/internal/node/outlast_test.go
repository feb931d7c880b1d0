package node

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// TestOutlast checks that a claim is tried again while its owner is a process that ended, and only then.
func TestOutlast(t *testing.T) {
	t.Parallel()
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		pid   int
		tries int
	}{
		"an ended process": {ended.Process.Pid, 3},
		"a live one":       {os.Getpid(), 1},
		"an unknown one":   {0, 1},
	}
	for name, c := range cases {
		tries := 0
		err := Outlast(t.Context(), func() error {
			if tries++; tries == 3 {
				return nil
			}
			return &store.OwnedError{Session: "ses_1", PID: c.pid}
		})
		if tries != c.tries || (err == nil) != (c.tries == 3) {
			t.Errorf("%s: %d tries and %v, want %d tries", name, tries, err, c.tries)
		}
	}
	other := errors.New("other")
	if err := Outlast(t.Context(), func() error { return other }); !errors.Is(err, other) {
		t.Errorf("Outlast = %v, want the other error", err)
	}
}
