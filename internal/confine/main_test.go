package confine_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// role is the variable that makes the test binary another process of a test.
const role = "TENON_TEST_CONFINE"

// TestMain lets the test binary be a host that starts confined commands, and such a command.
func TestMain(m *testing.M) {
	if r := os.Getenv(role); r != "" {
		os.Exit(play(r))
	}
	goleak.VerifyTestMain(m)
}
