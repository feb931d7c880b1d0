package plugins

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Kinds of errors of items.
var (
	// ErrTwice is returned for a second plugin with the same name.
	ErrTwice = errors.New("two plugins have the same name")
	// ErrMissing is returned for an entry of the configuration without a plugin.
	ErrMissing = errors.New("plugin not found")
	// ErrForeign is returned for an entry in a file of the project that names a plugin outside of it.
	ErrForeign = errors.New("is outside of the project")
)

// Entry is a plugin that the configuration or a flag names.
type Entry struct {
	// Path is a path or a name, as written. A text that is absolute or begins with ./, ../ or ~ is a path. A relative one starts at
	// Options.Project.Directory.
	Path    string
	Options json.RawMessage // the plugin's options; empty: none
	From    string          // human-readable origin of the entry: "/home/a/tenon.json:3"
	// Project marks an entry from a file of the project. It may name only plugins of the project and plugins the user has installed, and
	// it does not change the options of the latter.
	Project bool
	// Flag marks an entry of the command line, which takes precedence over others with its name.
	Flag bool
	// Required forbids a run without the plugin.
	Required bool
	// Watch is for plugin development: new content runs without approval if earlier content at this path was approved and the plugin
	// requests nothing more. This is not recorded.
	Watch bool
}

// Options configure a Loader.
type Options struct {
	Project sdk.Project // Directory, Worktree, Home, ConfigDir and DataDir are used
	Entries []Entry     // in the order of the configuration
	// Staged are plugins to be installed. Each replaces the plugin with its lock file and name.
	Staged []Installed
	// CacheDir caches digests of unchanged files. If empty, nothing is cached.
	CacheDir string
	// ConfigFiles are the files of the user's configuration, absolute, wherever they are. No grant may contain one.
	ConfigFiles []string
	// Store holds the approvals. Default: tenon.lock in Project.DataDir.
	Store   *trust.Store
	Openers map[sdk.Carrier]remote.Opener // of each of manifest.Carriers
	// Without are names of plugins that count as disabled this time.
	Without []string
	// Policy is the user's. It judges plugins by their sources and recorded signers, and MCP servers of packages by their addresses.
	Policy signature.Policy
	// Hooks returns the commands of a package's command hooks, one line each, as they run, and the parts that have no effect. An error
	// means that none of them runs.
	Hooks func(file, root string, data []byte) (lines, warnings []string, err error)
	// Reserved are names that plugins must not have: the names of built-in plugins.
	Reserved []string
	// Shipped returns the ids of the built-in tools and providers. A plugin's tool or provider with the same id replaces it, and the
	// approval question says so. Called at most once, and only if a plugin has a tool or a provider. If nil, there are none.
	Shipped func() (tools, providers []string)
	// Environ is the host's environment, in the form of os.Environ: the source of granted variables and secrets.
	Environ []string
	Logger  *slog.Logger // nil: no log
}

// Loader finds and loads plugins. Not safe for concurrent use.
type Loader struct {
	opts  Options
	store *trust.Store
	vault *trust.Vault
	log   *slog.Logger

	shipped func() (tools, providers []string)
}

// New returns a loader without accessing files.
func New(o Options) *Loader {
	l := &Loader{opts: o, store: o.Store, log: o.Logger, shipped: sync.OnceValues(o.Shipped)}
	l.log = cmp.Or(l.log, slog.New(slog.DiscardHandler))
	if l.store == nil {
		l.store = trust.OpenStore(filepath.Join(o.Project.DataDir, trust.LockFile))
	}
	cache := ""
	if o.CacheDir != "" {
		cache = filepath.Join(o.CacheDir, "plugins")
	}
	l.vault = trust.NewVault(filepath.Join(l.pluginDir(), "store"), cache)
	return l
}

// pluginDir returns the directory of plugins' data.
func (l *Loader) pluginDir() string { return filepath.Join(l.opts.Project.DataDir, "plugins") }

// environ returns a variable of the host's environment.
func (l *Loader) environ(name string) (string, bool) {
	return child.Lookup(l.opts.Environ, name)
}
