package child_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/child"
)

const asHost = "TENON_TEST_CHILD_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(asHost) != "" {
		os.Exit(host())
	}
	if os.Getenv(asCellHost) != "" {
		os.Exit(cellHost())
	}
	goleak.VerifyTestMain(m)
}

// host starts a helper that never ends and waits for it.
func host() int {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout = os.Stdout
	child.Prepare(cmd)
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_ = cmd.Wait()
	return 0
}

// When a host is killed and cannot clean up, its helpers end, too.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asHost+"=1")
	out := start(t, cmd) // the helper of the host holds the pipe too
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	_ = cmd.Wait()
}
