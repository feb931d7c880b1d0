//go:build unix

package shell

import "testing"

func TestGuardIsReplaced(t *testing.T) {
	t.Parallel()
	var g guard
	if err := g.expect(&group{}, ""); err != nil {
		t.Fatal(err)
	}
	first := g.cmd.Process.Pid
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.ended
	g.add(&group{pid: 1 << 30}) // no such group; must not block or end the host
	if err := g.expect(&group{}, ""); err != nil {
		t.Fatal(err)
	}
	if g.cmd.Process.Pid == first {
		t.Error("the dead guard is still in charge")
	}
	for range 2 {
		if err := g.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
