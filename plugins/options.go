package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Kinds of errors of items.
var (
	// ErrTwice means that two plugins have the same name.
	ErrTwice = errors.New("two plugins have the same name")
	// ErrNotApproved means that the user has not approved what was found.
	ErrNotApproved = errors.New("not approved")
	// ErrMissing means that there is no plugin where the configuration says that there is one.
	ErrMissing = errors.New("there is no such plugin")
	// ErrForeign means that a file of the project reaches for a plugin outside of it.
	ErrForeign = errors.New("is outside of the project")
)

// Entry is a plugin that the configuration or a flag names.
type Entry struct {
	// Path is a path or a name, as it is written. What begins with ./, ../, ~ or is absolute is a path.
	Path string
	// Base is where a relative path starts: the directory of the configuration file. Default: Options.Project.Directory.
	Base    string
	Options json.RawMessage // the plugin's options; empty: none
	From    string          // who named it, for people: "/home/a/tenon.json:3"
	// Project says that a file of the project named it. It may name only what is in the project and what the user has installed, and it
	// does not change the options of what the user has installed.
	Project bool
	// Flag says that the user named it on the command line: it wins over others of its name.
	Flag bool
	// Required says that a run without the plugin must not go on. The loader passes it on, see Item.Required.
	Required bool
	// Watch is for who develops the plugin: new content runs unasked as long as something was approved in this place and the plugin asks
	// for no more than it did then. Nothing of that is written down.
	Watch bool
}

// Carrier runs plugins outside of the host's process.
type Carrier interface {
	// Describe asks a plugin what it contributes. It has no grants and ends when the answer is there.
	Describe(ctx context.Context, u Unit) (sdk.Description, error)
	// Open makes the plugin. It starts, reads and compiles nothing yet.
	Open(u Unit) (sdk.Plugin, error)
}

// Unit is what a carrier needs to run a plugin. All paths are absolute and inside of the sealed copy, but for programs that the
// manifest names without a path.
type Unit struct {
	Name        string
	Description sdk.Description // with a runtime; of Describe, only name and runtime
	Grants      []sdk.Capability
	// Broker answers what the plugin asks of the host; nil in Describe. The plugin binds it in Start and closes it in Close.
	Broker *ability.Broker

	Root   string       // the package, or the directory of the single file
	Digest trust.Digest // of all of it

	Module  string   // of wasm: the module
	Command []string // of a process: the program, absolute, and its arguments
	// Program is the file that Checksum is of: the module, the program, or the first argument that is a file of the package when an
	// interpreter runs it. Empty when no file of the package is known to be started.
	Program  string
	Checksum string // SHA-256, 64 hexadecimal digits

	Env     map[string]string // the variables that were granted
	DataDir string            // the plugin's own directory; made, with mode 0700, by who uses it first
	Private []string          // tenon's own directories and configuration files: no grant may contain one or be inside one; empty paths are unknown
	Logger  *slog.Logger
}

// Options are what a Loader is made of.
type Options struct {
	Project sdk.Project // Directory, Worktree, Home, ConfigDir and DataDir are used
	Entries []Entry     // in the order of the configuration
	// CacheDir is for what can be made again: digests of unchanged files, descriptions. Empty: nothing is remembered.
	CacheDir string
	// ConfigFiles are the files of the user's configuration, absolute, wherever they are. No grant may contain one.
	ConfigFiles []string
	// Store is what the user approved. Default: tenon.lock in Project.DataDir.
	Store    *trust.Store
	Carriers map[sdk.Carrier]Carrier // by wasm and process
	// Reserved are names that plugins must not have: those of the plugins that tenon ships.
	Reserved []string
	// Shipped returns the ids of the tools and providers that tenon ships: a plugin's of the same id takes the place of one, and the user
	// is asked about that. It is called once at most, and only if a plugin has a tool or a provider. Nil: there are none.
	Shipped func() (tools, providers []string)
	// Environ is the host's environment, in the form of os.Environ: where granted variables and secrets come from.
	Environ []string
	Limits  trust.Limits
	Logger  *slog.Logger // nil: nothing is logged
}

// Loader finds and loads plugins. Its methods are for one goroutine at a time.
type Loader struct {
	opts  Options
	store *trust.Store
	vault *trust.Vault
	log   *slog.Logger

	shipped func() (tools, providers []string)
}

// New returns a loader. It touches no file.
func New(o Options) *Loader {
	l := &Loader{opts: o, store: o.Store, log: o.Logger, shipped: sync.OnceValues(o.Shipped)}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.store == nil {
		l.store = trust.OpenStore(filepath.Join(o.Project.DataDir, trust.LockFile))
	}
	l.vault = trust.NewVault(trust.VaultOptions{
		Dir: filepath.Join(o.Project.DataDir, "plugins", "store"), CacheDir: l.cache(), Limits: o.Limits,
	})
	return l
}

// Load finds and loads the plugins. It is New(o).Load(ctx).
func Load(ctx context.Context, o Options) (*Loaded, error) { return New(o).Load(ctx) }

// Store returns what the user approved.
func (l *Loader) Store() *trust.Store { return l.store }

func (l *Loader) cache() string {
	if l.opts.CacheDir == "" {
		return ""
	}
	return filepath.Join(l.opts.CacheDir, "plugins")
}

// environ returns a variable of the host's environment; as for a shell, the last one counts.
func (l *Loader) environ(name string) (string, bool) {
	for i := len(l.opts.Environ) - 1; i >= 0; i-- {
		if value, ok := cutVariable(l.opts.Environ[i], name); ok {
			return value, true
		}
	}
	return "", false
}
