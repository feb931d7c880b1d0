package credentials_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the other process of TestRefreshByProcesses if the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv(refreshVariable); path != "" {
		os.Exit(refreshOnce(path, os.Getenv(serverVariable)))
	}
	goleak.VerifyTestMain(m)
}
