package wasm

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/hooks"
)

// The kinds of errors of this package. Errors of a plugin's own code (tenon_call returned 1) are plain errors with its text.
var (
	// ErrModule means that the module cannot be used: it is malformed, too large, or does not speak the ABI.
	ErrModule = errors.New("bad wasm module")
	// ErrDigest means that the bytes of the module are not the ones that were approved.
	ErrDigest = errors.New("the module is not the one that was approved")
	// ErrTrap means that the guest's code ended abnormally: a trap, an exit, a bad pointer. Its instance is gone.
	ErrTrap = errors.New("trap")
	// ErrAnswer is returned for an answer that does not match the ABI.
	ErrAnswer = errors.New("bad answer")
	// ErrCompiling means that the call's time ended while the module was compiled, which goes on: a later call will find it done. It is
	// an hooks.ErrNotReady: no failure of the plugin.
	ErrCompiling = fmt.Errorf("%w: the module is still being compiled for the first time", hooks.ErrNotReady)
	// ErrDepth means that calls of a plugin led to calls of the same plugin too often.
	ErrDepth = errors.New("the plugin's calls led back to itself too often")
	// ErrClosed means that the plugin was closed.
	ErrClosed = errors.New("closed")
)

// Options configure a Runtime. The zero value works.
type Options struct {
	// CacheDir is where compiled modules are kept, made with mode 0700. Empty: every process compiles them.
	CacheDir string
	// CompileTimeout bounds how long the compilation of one module is waited for. Default 60 s.
	CompileTimeout time.Duration
	// IdleTimeout is how long an instance waits for its next call before it is dropped. Default 5 minutes.
	IdleTimeout time.Duration
	Logger      *slog.Logger // nil: nothing is logged
}

const (
	cacheBytes            = 512 << 20 // of all entries of the cache
	defaultCompileTimeout = 60 * time.Second
	defaultIdleTimeout    = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	o.CompileTimeout = cmp.Or(o.CompileTimeout, defaultCompileTimeout)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
