package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// version is set at link time: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	delayCollection()
	os.Exit(command(managedFile()))
}

// command runs tenon with the process's own arguments and streams and returns its exit code. managed is as in run.
func command(managed string) int {
	// net/http logs parts of malformed answers through package log, which would appear in the middle of the terminal UI.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	return run(context.Background(), os.Args[1:], os.Environ(), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, managed)
}
