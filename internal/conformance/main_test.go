package conformance_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/sdk"
	sdklines "github.com/tenonhq/tenon/sdk/lines"
	"github.com/tenonhq/tenon/sdk/process"
)

// guestEnv is the variable that names the guest as which a test starts this program again.
const guestEnv = "TENON_TEST_GUEST"

// The guests.
const (
	guestProcess = "process" // over gRPC
	guestLines   = "lines"
	guestCommand = "command"
	guestMCP     = "mcp"
	guestFault   = "fault" // the argument names the fault
)

// runGuest runs a guest until it ends.
func runGuest(name string) error {
	p := conformance.New(sdk.CarrierProcess)
	p.Exit = os.Exit
	switch name {
	case guestProcess:
		process.Serve(p)
	case guestLines:
		sdklines.Serve(p)
	case guestCommand:
		return runCommand(context.Background(), os.Stdin, os.Stdout)
	case guestMCP:
		return runServer(context.Background(), os.Stdin, os.Stdout)
	case guestFault:
		return runFault(os.Args[1])
	default:
		return fmt.Errorf("guest %q not found", name)
	}
	return nil
}

func TestMain(m *testing.M) {
	if name := os.Getenv(guestEnv); name != "" {
		if err := runGuest(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) // of a command: an error, and no decision
		}
		return
	}
	if err := shop.open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shop.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func pipeCarrier() Carrier {
	return Carrier{Name: "pipe", Open: openPipe, Grants: true, Skips: map[string]string{
		"auth": "the pipe has hooks and tools only", "models": "the pipe has hooks and tools only",
	}}
}

func TestBuiltin(t *testing.T) {
	t.Parallel()
	Run(t, Builtin())
}

func TestPipe(t *testing.T) {
	t.Parallel()
	Run(t, pipeCarrier())
}

func TestWASM(t *testing.T) {
	t.Parallel()
	Run(t, wasmCarrier())
}

func TestProcess(t *testing.T) {
	t.Parallel()
	Run(t, processCarrier())
}

func TestLines(t *testing.T) {
	t.Parallel()
	Run(t, linesCarrier())
}

func TestNode(t *testing.T) {
	t.Parallel()
	Run(t, nodeCarrier())
}

func TestPython(t *testing.T) {
	t.Parallel()
	Run(t, pythonCarrier())
}

func TestRust(t *testing.T) {
	t.Parallel()
	Run(t, rustCarrier())
}

func TestRustModule(t *testing.T) {
	t.Parallel()
	Run(t, rustModuleCarrier())
}

// TestMixed runs plugins of all carriers in one engine.
func TestMixed(t *testing.T) {
	t.Parallel()
	RunMixed(t, Builtin(), pipeCarrier(), wasmCarrier(), processCarrier(), linesCarrier(), mcpCarrier(true), interceptorCarrier())
}
