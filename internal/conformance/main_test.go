package conformance_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
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
