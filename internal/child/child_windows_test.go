package child_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/child"
)

// TestMain makes this program a helper that starts another one, which keeps its output open, and then ends or waits.
func TestMain(m *testing.M) {
	switch os.Getenv("TENON_TEST_FAMILY") {
	case "":
		os.Exit(m.Run())
	case "child":
		_, _ = os.Stdout.WriteString("ready\n")
		<-time.After(time.Minute)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout = append(os.Environ(), "TENON_TEST_FAMILY=child"), os.Stdout
	if err := cmd.Start(); err != nil {
		os.Exit(1)
	}
	if os.Getenv("TENON_TEST_FAMILY") == "waits" {
		_ = cmd.Wait()
	}
}

// The processes that a command started end with it, or after it.
func TestJob(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"waits": true, "ended": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TENON_TEST_FAMILY="+name)
			pipes, leave, err := child.StartConnected(cmd, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pipes.Close()
			out := bufio.NewReader(pipes.Stdout)
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Errorf("the child said %q, %v", line, err)
			}
			if name != "waits" {
				_ = cmd.Wait()
			}
			if kill {
				if err := child.Kill(cmd); err != nil {
					t.Error(err)
				}
			}
			if err := leave(); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(out); err != nil { // ends with the child
				t.Error(err)
			}
		})
	}
}
