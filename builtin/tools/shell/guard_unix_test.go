//go:build unix

package shell

import (
	"syscall"
	"testing"
)

func TestGuardIsReplaced(t *testing.T) {
	t.Parallel()
	var g guard
	if err := g.expect(&group{}, ""); err != nil {
		t.Fatal(err)
	}
	first := g.process.PID
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-g.process.Ended
	g.add(&group{pid: 1 << 30}) // no such group; must not block or end the host
	if err := g.expect(&group{}, ""); err != nil {
		t.Fatal(err)
	}
	if g.process.PID == first {
		t.Error("the dead guard is still in charge")
	}
	for range 2 {
		if err := g.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
