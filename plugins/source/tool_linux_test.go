package source_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoTerminal: ssh asks about an unknown host on the terminal of its session, where a process in the background waits for the answer forever.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	seen := filepath.Join(t.TempDir(), "session")
	f := fetcher(t)
	f.Environ = append(f.Environ, "GIT_SSH_COMMAND=cut -d' ' -f6 /proc/self/stat >"+seen+"; exit 255 #")
	if _, _, err := fetch(t, f, "git+ssh://git@tenon.invalid/r", nil); err == nil {
		t.Error("no error although ssh failed")
	}
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(seen)
	if have := strings.TrimSpace(string(stat)); err != nil || have == "" || have == strconv.Itoa(session) {
		t.Errorf("ssh is in session %q, %v; that of this process is %d", have, err, session)
	}
}
