package wasm

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/hooks"
)

// The kinds of errors of this package. Errors of a plugin's own code (tenon_call returned 1) are plain errors with its text.
var (
	// ErrModule is returned for a module that is malformed, too large, or does not implement the ABI.
	ErrModule = errors.New("bad wasm module")
	// ErrDigest is returned for a module other than the approved one.
	ErrDigest = errors.New("the module is not the one that was approved")
	// ErrTrap is returned if the guest's code ended abnormally: a trap, an exit, a bad pointer. The instance is discarded.
	ErrTrap = errors.New("trap")
	// ErrAnswer is returned for an answer that does not match the ABI.
	ErrAnswer = errors.New("bad answer")
	// ErrCompiling is returned if a call times out while the module is compiled. Compilation continues for later calls. It wraps
	// hooks.ErrNotCalled, so it does not count as a failure of the plugin.
	ErrCompiling = fmt.Errorf("%w: the module is still being compiled for the first time", hooks.ErrNotCalled)
	// ErrDepth is returned if calls of plugins are nested too deep.
	ErrDepth = errors.New("the plugin's calls led back to itself too often")
	// ErrClosed is returned after the plugin was closed.
	ErrClosed = errors.New("closed")
)

// Options configure a Runtime. The zero value works.
type Options struct {
	// CacheDir is the directory for compiled modules, created with mode 0700. If empty, every process compiles them.
	CacheDir string
	// CompileTimeout limits the compilation of one module. Default 60 s.
	CompileTimeout time.Duration
	// IdleTimeout is the time after which an idle instance is dropped. Default 5 minutes.
	IdleTimeout time.Duration
	Logger      *slog.Logger // nil: nothing is logged
}
