package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/builtin"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

// Workspace is the directory a command works in, with its project and configuration.
type Workspace struct {
	App     *App
	Project sdk.Project // its ID is set by ProjectID
	id      *projectID  // nil outside of a repository
	Loaded  *config.Loaded

	opening     sync.Once // of credentials
	credentials *credentials.Store
	stored      atomic.Pointer[map[string]*credentials.Credential] // cache of storedKeys; nil: not read yet
}

// Place finds directories and project without reading the configuration.
func (a *App) Place(ctx context.Context) (*Workspace, error) {
	directory, err := a.Directory()
	if err != nil {
		return nil, err
	}
	project, err := FindDirs(a.Env, a.Flags.DataDir)
	if err != nil {
		return nil, err
	}
	w := &Workspace{App: a}
	worktree, git := findWorktree(directory)
	if git && !acceptable(ctx, worktree) {
		a.Log.Warn("the repository " + worktree + " belongs to another user and is not used; if you trust it: git config --global --add safe.directory " + visible.Word(worktree))
		git = false
	}
	if git {
		w.id = lookUpProject(ctx, worktree, project.DataDir)
	} else {
		worktree = directory
	}
	project.ID, project.Directory, project.Worktree, project.Git = GlobalProject, directory, worktree, git
	w.Project = project
	return w, nil
}

// Configured finds directories and project, and reads the configuration. From then on, its secrets and the stored keys and tokens are
// masked in the log, in errors and in exports.
func (a *App) Configured(ctx context.Context) (*Workspace, error) {
	w, err := a.Place(ctx)
	if err == nil {
		err = w.Configure(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, warning := range w.Loaded.Warnings {
		a.Log.Warn(warning.String())
	}
	return w, nil
}

// Configure reads the configuration of a placed workspace, as Configured does, but logs no warnings.
func (w *Workspace) Configure(ctx context.Context) (err error) {
	if w.Loaded, err = w.LoadConfig(ctx, nil); err != nil {
		return err
	}
	if level := w.Loaded.Config.LogLevel; level != "" && w.App.Flags.logLevel == "" {
		l, err := parseLevel(level)
		if err != nil {
			return err
		}
		w.App.SetLevel(l)
	}
	w.hideStored()
	return nil
}

// LoadConfig reads the configuration and masks its secrets from then on. pending holds files that are about to be written; see config.Options.
func (w *Workspace) LoadConfig(ctx context.Context, pending map[string][]byte) (*config.Loaded, error) {
	env := w.App.Env
	if file := w.App.Flags.config; file != "" {
		path, _ := filepath.Abs(file) // Place has found the working directory
		env = append(append(environ{}, env...), "TENON_CONFIG="+path)
	}
	loaded, err := config.Load(ctx, config.Options{
		Directory: w.Project.Directory, Worktree: w.Project.Worktree, Home: w.Project.Home, ConfigDir: w.Project.ConfigDir, Environ: env,
		Managed: w.App.Managed, Pending: pending,
	})
	if err == nil {
		w.App.Mask.hide(loaded.UserSecrets)
	}
	return loaded, err
}

// ProjectID returns the ID of the project. It waits until the ID is known. After the first call, it can be called from any goroutine.
func (w *Workspace) ProjectID() string {
	if w.id == nil {
		return w.Project.ID
	}
	id, _ := w.id.wait()
	if w.Project.ID != id {
		w.Project.ID = id
	}
	return id
}

// Scope returns the query for sessions of this project: its ID, or its directory outside a repository.
func (w *Workspace) Scope() (projectID, directory string) {
	if id := w.ProjectID(); id != GlobalProject {
		return id, ""
	}
	return "", w.SessionDirectory()
}

// SessionDirectory returns the working directory as stored in sessions.
func (w *Workspace) SessionDirectory() string { return store.Directory(w.Project.Directory) }

// ApprovalProject returns the project under which approvals are stored.
func (w *Workspace) ApprovalProject() string {
	w.ProjectID()
	return permission.ApprovalProject(w.Project)
}

// OpenStore opens the session store. If the repository has got its first commit since the last run, it moves the sessions and approvals from
// before the commit to the project. Of the options, only ReadFull is used.
func (w *Workspace) OpenStore(ctx context.Context, o sqlite.Options) (*sqlite.Store, error) {
	o.Path, o.Version, o.Logger = w.Database(), w.App.Version, w.App.Log
	s, err := sqlite.Open(ctx, o)
	if err != nil || w.ProjectID() == GlobalProject {
		return s, err
	}
	if _, fresh := w.id.wait(); fresh {
		if err := adopt(ctx, s, w.Project, w.id.known); err != nil {
			w.App.Log.Debug("sessions from before the first commit are not adopted yet", "err", err)
			return s, nil
		}
		w.id.keep(w.Project.ID)
	}
	return s, err
}

// WriteFile replaces a configuration file that the caller has read, following links, and keeps its mode. A new file of the user is private;
// if secret is set, any file is. Errors: projectfs.ErrOutside for a link that leads a project's file out of the project.
func (w *Workspace) WriteFile(path string, text []byte, secret bool) error {
	files, mode := projectfs.ForProject(w.Project), os.FileMode(0o600)
	if files.IsProject(path) {
		mode = 0o644
	}
	target, err := files.Resolve(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	if secret {
		mode = 0o600
	}
	keepMode := func(f *os.File) error { return f.Chmod(mode) }
	err = atomicfile.Write(target, text, atomicfile.Options{Mode: mode, MakeDirs: 0o700, Sync: true, Prepare: keepMode})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, Cause(err))
	}
	return nil
}

// Database returns the path of the session store.
func (w *Workspace) Database() string { return filepath.Join(w.Project.DataDir, "tenon.db") }

// Extensions finds all third-party extensions. paths are additional plugins; watch is for plugins under development.
func (w *Workspace) Extensions(ctx context.Context, paths []string, watch bool) (*extensions.Set, error) {
	o := w.extensionOptions()
	o.Flags, o.Watch = paths, watch
	return extensions.Open(ctx, o)
}

// Staged finds all third-party extensions as if these plugins were installed.
func (w *Workspace) Staged(ctx context.Context, list []plugins.Installed) (*extensions.Set, error) {
	o := w.extensionOptions()
	o.Staged = list
	return extensions.Open(ctx, o)
}

func (w *Workspace) extensionOptions() extensions.Options {
	a := w.App
	return extensions.Options{
		Options: plugins.Options{
			Project: w.Project, Reserved: shippedNames(), Shipped: shippedContributions, CacheDir: w.Project.CacheDir, Environ: a.Env, Logger: a.Log,
		},
		Config: w.Loaded, Version: a.Version, Hide: a.Mask.hide, Credentials: w.Credentials(),
	}
}

// Shipped returns the built-in plugins. Their order is the default order of their hooks.
func Shipped() []sdk.Plugin { return builtin.All() }

// IsShipped reports whether a name is that of a built-in plugin.
func IsShipped(name string) bool { return slices.Contains(shippedNames(), name) }

var shippedNames = sync.OnceValue(func() []string {
	return Mapped(Shipped(), func(p *sdk.Plugin) string { return (*p).Manifest().Name })
})

// shippedContributions returns the IDs of the built-in tools and providers.
func shippedContributions() (ids, providers []string) {
	ids = append(ids, tools.SearchTool) // not of a plugin
	for _, p := range Shipped() {
		if source, ok := p.(sdk.ToolSource); ok {
			for _, t := range source.Tools() {
				ids = append(ids, t.Definition().ID)
			}
		}
		if source, ok := p.(sdk.ProviderSource); ok {
			for _, info := range source.Providers() {
				providers = append(providers, info.ID)
			}
		}
	}
	return ids, providers
}

// Machine is a running host and its store.
type Machine struct {
	*host.Host
	Store     store.Store
	Workspace *Workspace
	Options   HostOptions

	// Reload reloads the plugins; turns that start later use them.
	Reload func(context.Context) error
	// Refresh reloads the plugins if others were approved, or the user signed in or out, in the meantime. It returns the names of the approved ones.
	Refresh func(context.Context) ([]string, error)
	// Close closes the host, the extensions and the store.
	Close func(context.Context) error
}

// HostOptions are the options of a host.
type HostOptions struct {
	Interactive bool     // the user can be asked
	Auto        bool     // allow everything that no rule denies
	Plugins     []string // absolute paths of the plugins on the command line
	Watch       bool     // Plugins are under development
	// Wait is the maximum wait for MCP servers that have never been started; zero means no wait. If it takes a while, Waiting is called with
	// their names and the maximum.
	Wait    time.Duration
	Waiting func(servers []string, limit time.Duration)
}

// Open opens the store and starts the host with the approved plugins. The caller closes the machine.
func (w *Workspace) Open(ctx context.Context, o HostOptions) (*Machine, error) {
	return w.App.Start(ctx, w, o)
}

// WithMachine runs f with a started host, for commands that run no turn.
func (a *App) WithMachine(ctx context.Context, f func(*Machine) error) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, HostOptions{})
	if err != nil {
		return err
	}
	return errors.Join(f(m), m.Close(context.WithoutCancel(ctx)))
}

// WithStore runs f with the session store, without loading configuration or plugins.
func (a *App) WithStore(ctx context.Context, f func(w *Workspace, s store.Store) error) error {
	w, err := a.Place(ctx)
	if err != nil {
		return err
	}
	s, err := w.OpenStore(ctx, sqlite.Options{ReadFull: true})
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Close())
}

// WithExtensions runs f with all third-party extensions. paths are additional plugins.
func (a *App) WithExtensions(ctx context.Context, paths []string, f func(w *Workspace, s *extensions.Set) error) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	s, err := w.Extensions(ctx, paths, false)
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Discard(ctx))
}

// OnPlace returns work in a workspace whose configuration is not read.
func (a *App) OnPlace(f func(context.Context, *Workspace, []string) error) Work {
	return on(a.Place, f)
}

// OnConfig returns work in a configured workspace.
func (a *App) OnConfig(f func(context.Context, *Workspace, []string) error) Work {
	return on(a.Configured, f)
}

func on(open func(context.Context) (*Workspace, error), f func(context.Context, *Workspace, []string) error) Work {
	return func(cmd *cobra.Command, args []string) error {
		w, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return f(cmd.Context(), w, args)
	}
}

// OnMachine returns work with a started host, for commands that run no turn.
func (a *App) OnMachine(f func(context.Context, *Machine, []string) error) Work {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithMachine(cmd.Context(), func(m *Machine) error { return f(cmd.Context(), m, args) })
	}
}

// OnHost returns work with a started host and the session named by the argument, by default the latest.
func (a *App) OnHost(f func(context.Context, *Machine, *sdk.Session) error) Work {
	return a.OnMachine(func(ctx context.Context, m *Machine, args []string) error {
		s, err := ArgumentSession(ctx, m.Workspace, m.Store, args)
		if err != nil {
			return err
		}
		return f(ctx, m, s)
	})
}

// OnStore returns work with the session store, without configuration or plugins.
func (a *App) OnStore(f func(context.Context, *Workspace, store.Store, []string) error) Work {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithStore(cmd.Context(), func(w *Workspace, s store.Store) error { return f(cmd.Context(), w, s, args) })
	}
}

// OnSession returns work with the session named by the argument, by default the latest, and the store. It needs no configuration or plugins.
func (a *App) OnSession(f func(context.Context, store.Store, *sdk.Session) error) Work {
	return a.OnStore(func(ctx context.Context, w *Workspace, s store.Store, args []string) error {
		info, err := ArgumentSession(ctx, w, s, args)
		if err != nil {
			return err
		}
		return f(ctx, s, info)
	})
}

// OnExtensions returns work with all third-party extensions.
func (a *App) OnExtensions(f func(context.Context, *extensions.Set, []string) error) Work {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithExtensions(cmd.Context(), nil, func(_ *Workspace, s *extensions.Set) error { return f(cmd.Context(), s, args) })
	}
}

// Sandbox returns the paths of the project's sandbox.
func (w *Workspace) Sandbox() ([]sandbox.Path, error) {
	list, err := sandbox.Find(sandbox.Options{Project: w.Project, Environ: w.App.Env, Config: w.Loaded.Config.Sandbox, Skills: w.Loaded.Config.Skills.Paths, Origin: w.Loaded.Origin})
	if err != nil {
		return nil, Fail(ExitConfig, err, "change sandbox in the configuration; see tenon docs permissions")
	}
	return list, nil
}

// Confinement describes whether commands in the project run confined, and if not, why.
func (w *Workspace) Confinement(list []sandbox.Path) string {
	if on := w.Loaded.Config.Sandbox.Enabled; on != nil && !*on {
		return "not confined: disabled at " + w.Loaded.Origin("sandbox.enabled")
	}
	abi, err := confine.Supported()
	if err == nil {
		var rules *confine.Ruleset
		if rules, err = confine.New(sandbox.Policy(list, w.Project.Worktree)); err == nil {
			err = rules.Close()
		}
	}
	if conflict, ok := errors.AsType[*confine.ConflictError](err); ok {
		return fmt.Sprintf("not confined, so each command asks: the project contains %s, which confined commands must not read", conflict.Hidden)
	}
	if err != nil {
		return "not confined: " + err.Error()
	}
	text := fmt.Sprintf("confined by Landlock (ABI %d)", abi)
	if gaps := confine.Gaps(abi); len(gaps) > 0 {
		text += ", except that " + strings.Join(gaps, "; ")
	}
	return text
}
