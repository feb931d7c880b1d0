//go:build unix

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// When a host is killed and cannot clean up, its plugins end, too, and no file is left behind.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	spec, family := heldGuest(t)
	host := exec.Command(spec.Command[0])
	temporary := t.TempDir()
	host.Env = append(os.Environ(), hostRole+"="+spec.Env[holdFile], "TMPDIR="+temporary)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("the host said %q, %v", line, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	wantGone(t, family)
	if left, err := filepath.Glob(filepath.Join(temporary, "plugin-dir*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
