package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Kinds of failures of a plugin's process. Errors of calls wrap one of them, or come from the plugin.
var (
	ErrStart  = errors.New("the process did not start")
	ErrEnded  = errors.New("the process ended")
	ErrDown   = errors.New("the process is no longer restarted")
	ErrDigest = errors.New("the file is not the one that was approved")
	ErrClosed = errors.New("the plugin was closed")
)

// Options configure an Opener. The zero value is ready for use.
type Options struct {
	// Environ returns the environment of the host, in the form of os.Environ. It is called at each start of a process, which receives
	// PATH, HOME and similar variables. Default os.Environ.
	Environ func() []string
	// Host is the host's name and version, for the log of a plugin.
	Host string
	// StartTimeout limits a start, from the execution of the file to the answer to the start request. Default 30 s, as for MCP servers.
	StartTimeout time.Duration
	// StopTimeout limits the shutdown of a plugin; a quarter of it applies if an abandoned hook is still unanswered. Default 2 s.
	StopTimeout time.Duration
	// Restarts is the maximum number of restarts within ten minutes of a process that ended unexpectedly. Default 5; negative: none.
	Restarts int
	// RestartDelay is the delay of the second restart. The first has none; each later one doubles the delay, up to 30 s.
	// Default 500 ms; negative: no delays.
	RestartDelay time.Duration
	// Unconfined reports whether the processes of the plugin of that name run with all rights of the user. If nil or false, and if the
	// system can confine processes (see confine.Supported), they can access only the system, their interpreter, package, data and grants.
	Unconfined func(plugin string) bool
	// MemoryMB is the maximum data size of a process, in MiB; only on Linux. Default 4096; negative: no limit.
	MemoryMB int

	linesOnStdio bool // lines use the standard streams, as on Windows; for tests
}

// Opener opens plugins that run as processes. Safe for use from many goroutines.
type Opener struct{ opts Options }

// New returns an opener.
func New(o Options) *Opener {
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	o.Host = cmp.Or(o.Host, "tenon")
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 2*time.Second)
	o.Restarts = cmp.Or(o.Restarts, 5)
	o.RestartDelay = cmp.Or(o.RestartDelay, 500*time.Millisecond)
	o.MemoryMB = cmp.Or(o.MemoryMB, 4096)
	return &Opener{o}
}

// Open returns the plugin. The first call starts its process. The error is nil.
func (c *Opener) Open(u remote.Unit) (sdk.Plugin, error) {
	complete(&u)
	return newPlugin(c.opts, &u), nil
}

// Describe starts the process, asks for its contributions and ends it. u.Description needs no fields; its name is used in messages.
func (c *Opener) Describe(ctx context.Context, u remote.Unit) (sdk.Description, error) {
	u.Description.Name = cmp.Or(u.Description.Name, filepath.Base(u.Command[0]))
	complete(&u)
	var d sdk.Description
	in, err := begin(ctx, c.opts, &u, sdk.Project{}, u.Logger, func(ctx context.Context, in *instance) error {
		description, err := in.api.call(ctx, &request{Request: guest.Request{Method: "describe"}}, nil)
		if err != nil {
			return in.explain(err)
		}
		if err := remote.Decode("its description", description, &d); err != nil {
			return fmt.Errorf("%w: %w", sdk.ErrManifest, err)
		}
		return nil
	})
	if err != nil {
		return sdk.Description{}, err
	}
	in.close(context.WithoutCancel(ctx))
	return d, nil
}

// confined reports whether processes of the plugin run confined on this system.
func (o *Options) confined(u *remote.Unit) bool {
	_, err := confine.Supported()
	return err == nil && (o.Unconfined == nil || !o.Unconfined(u.Description.Name))
}

// complete sets the defaults of a unit.
func complete(u *remote.Unit) {
	u.Program = cmp.Or(u.Program, u.Command[0])
	u.Root = cmp.Or(u.Root, filepath.Dir(u.Program))
	u.Logger = cmp.Or(u.Logger, slog.New(slog.DiscardHandler))
}
