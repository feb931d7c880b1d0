package cli

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(turnHome) != "" {
		os.Exit(turnProcess())
	}
	goleak.VerifyTestMain(m)
}
