package remote

import (
	"context"
	"log/slog"

	"github.com/tenonhq/tenon/sdk"
)

// Carrier is a way to run third-party plugins. manifest.Carriers lists them.
type Carrier struct {
	Name sdk.Carrier // also the type of the runtime in plugin.json
	// Extension is the file name extension of a plugin that is a single file, such as ".wasm". Empty: any executable.
	Extension string
	// Module reports that the runtime names a file of the package instead of a command.
	Module bool
	// Inert reports that a plugin without grants can do no harm, so that it can describe itself before the user approves it. Such plugins
	// contribute no agents, commands or programs.
	Inert bool
	// How describes how a plugin runs, for the user. unconfined is the reason why processes have all rights; nil if they are confined.
	How func(rt *sdk.Runtime, unconfined error) string
	// Check reports the problems of a package's runtime; where is the path of its field. It may replace the command by the one for
	// this platform.
	Check func(c Checker, where string, rt *sdk.Runtime)
	// New returns the opener for the plugins of a host. It reads, compiles and starts nothing.
	New func(e Environment) Opener
}

// Opener opens plugins outside of the host's process. It need not be closed: shared resources are released with the last plugin.
type Opener interface {
	// Describe runs a plugin without grants and returns its contributions. No part of it runs afterwards.
	Describe(ctx context.Context, u Unit) (sdk.Description, error)
	// Open returns the plugin, which contributes exactly what u.Description lists. It starts, reads and compiles nothing.
	Open(u Unit) (sdk.Plugin, error)
}

// Precompiler is implemented by plugins that are compiled before their first call.
type Precompiler interface {
	// Compiled reports whether the code is compiled and cached. It may be false for code that was compiled before: its cache was deleted, or
	// it is of another version of tenon.
	Compiled() bool
	// Precompile reads, checks and compiles the code, so that the first call is fast. Compiling 5 MB takes about a second; the result is
	// cached. Call it when a plugin is installed or approved.
	Precompile(ctx context.Context) error
}

// Environment is the part of the host that openers use.
type Environment struct {
	Environ  func() []string // in the form of os.Environ; for starts of processes
	Host     string          // name and version, for the log of a plugin
	CacheDir string          // directory for compiled code, which openers may create; empty: nothing is cached
	Logger   *slog.Logger
	// Unconfined reports whether the processes of the plugin run with all rights of the user. If nil, none do.
	Unconfined func(plugin string) bool
}

// Checker reports problems of a package. A field is a path as checked.Join makes it; remedies may be empty.
type Checker interface {
	Problem(field, remedy, format string, args ...any)
	// File reports a path that does not name a regular file inside of the package.
	File(field, path string, executable bool)
	// Command reports a program and arguments that cannot be started, and returns whether they can.
	Command(field string, command []string) bool
}
