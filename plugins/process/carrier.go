package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
)

// What can be wrong with a plugin's process. The errors of calls wrap one of them, or come from the plugin itself.
var (
	ErrStart  = errors.New("the process did not start")
	ErrEnded  = errors.New("the process ended")
	ErrDown   = errors.New("the process is not started any more")
	ErrDigest = errors.New("the file is not the one that was approved")
	ErrClosed = errors.New("the plugin was closed")
)

// Defaults of Options.
const (
	DefaultStartTimeout = 5 * time.Second
	DefaultStopTimeout  = 2 * time.Second
	DefaultRestarts     = 5
	DefaultMemoryMB     = 4096
)

// Options configure a Carrier. The zero value is ready for use.
type Options struct {
	// Environ is the environment of the host, in the form of os.Environ. Of it a process gets what every program needs, PATH and
	// the like, and nothing else. Nil: os.Environ.
	Environ []string
	// Host is the host's name and version, for people who read a plugin's log.
	Host string
	// StartTimeout bounds a start, from executing the file to the answer of the plugin's Start. Default DefaultStartTimeout.
	StartTimeout time.Duration
	// StopTimeout is how long a plugin may take to stop. Default DefaultStopTimeout.
	StopTimeout time.Duration
	// Restarts is how often within ten minutes a process that ended by itself is started again. Default DefaultRestarts; negative:
	// never.
	Restarts int
	// RestartDelay is how long the second restart waits; the first does not, and each later one waits twice as long, at most 30 s.
	// Default 500 ms; negative: none of them waits.
	RestartDelay time.Duration
	// MemoryMB bounds the data of a process, in MiB, where the system can (Linux). Default DefaultMemoryMB; negative: no bound.
	MemoryMB int
}

// Spec is what a plugin is made of.
type Spec struct {
	// Description says what the plugin contributes. Only what it lists is ever called. Name is required.
	Description sdk.Description
	// Command starts the plugin: an absolute path and arguments.
	Command []string
	// Program is the file that Digest is about. Default: Command[0]; of a plugin that an interpreter runs, its script.
	Program string
	// Digest is the SHA-256 of Program, 64 hexadecimal digits, with or without "sha256:" before them. What runs is checked against
	// it at every start. Empty: any file will do.
	Digest string
	// Dir is the plugin's package: the working directory of the process and its PLUGIN_ROOT. Default: the directory of Program.
	Dir string
	// DataDir is the plugin's own directory, its PLUGIN_DATA, made with mode 0700. Empty: it has none.
	DataDir string
	// Env holds the variables the plugin was granted. PLUGIN_ROOT and PLUGIN_DATA win over it.
	Env map[string]string
	// Grants is what the user gave. The capability "events" is held here, the others by Broker; the plugin is told of all.
	Grants []sdk.Capability
	// Broker answers what the plugin asks of the host. The plugin binds it in Start and closes it in Close. Nil: there is nothing
	// to ask.
	Broker *ability.Broker
	// Unconfined runs the processes with all the rights of the user. Default: where the system can (see confine.Supported), they reach
	// only the system, their interpreter, their package, their data and what Grants lists.
	Unconfined bool
	// Logger gets what the process prints and logs before Start gives it one. Nil: nothing is logged until then.
	Logger *slog.Logger
}

// Carrier opens plugins that run as processes. Safe for use from many goroutines.
type Carrier struct{ opts Options }

// New returns a carrier.
func New(o Options) *Carrier {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Host == "" {
		o.Host = "tenon"
	}
	o.StartTimeout = orDefault(o.StartTimeout, DefaultStartTimeout)
	o.StopTimeout = orDefault(o.StopTimeout, DefaultStopTimeout)
	o.Restarts = orDefault(o.Restarts, DefaultRestarts)
	o.RestartDelay = orDefault(o.RestartDelay, 500*time.Millisecond)
	o.MemoryMB = orDefault(o.MemoryMB, DefaultMemoryMB)
	return &Carrier{o}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Open makes the plugin. It reads and starts nothing: the first call does. Errors wrap sdk.ErrManifest and name the field.
func (c *Carrier) Open(spec Spec) (sdk.Plugin, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	return newPlugin(c.opts, &spec)
}

// Describe starts the process, asks it what it contributes and ends it. Of the spec's Description only the name is used, in
// messages; it may be empty.
func (c *Carrier) Describe(ctx context.Context, spec Spec) (sdk.Description, error) {
	if spec.Description.Name == "" && len(spec.Command) > 0 {
		spec.Description.Name = filepath.Base(spec.Command[0])
	}
	if err := spec.complete(); err != nil {
		return sdk.Description{}, err
	}
	return describe(ctx, c.opts, &spec)
}

// Confined reports whether processes of the plugin run confined on this system.
func (s *Spec) Confined() bool {
	_, err := confine.Supported()
	return err == nil && !s.Unconfined
}

// complete checks the spec and sets its defaults.
func (s *Spec) complete() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: plugin %q: %s: %s", sdk.ErrManifest, s.Description.Name, field, fmt.Sprintf(format, args...))
	}
	if s.Description.Name == "" {
		return bad("name", "missing")
	}
	if len(s.Command) == 0 {
		return bad("runtime.command", "missing; name the executable")
	}
	if s.Program == "" {
		s.Program = s.Command[0]
	}
	for field, path := range map[string]string{"runtime.command": s.Command[0], "program": s.Program} {
		if !filepath.IsAbs(path) {
			return bad(field, "%q is no absolute path", path)
		}
	}
	if s.Digest != "" && !validDigest(s.Digest) {
		return bad("digest", "%q is no SHA-256 in hexadecimal digits", s.Digest)
	}
	if s.Dir == "" {
		s.Dir = filepath.Dir(s.Program)
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
