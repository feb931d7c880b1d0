package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/builtin"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

// shipped returns the plugins that tenon ships in their order, which is the order of their hooks where nothing else decides.
func shipped() []sdk.Plugin { return builtin.All() }

// workspace is where the command works and what configuration it found there.
type workspace struct {
	app     *app
	dirs    dirs
	project sdk.Project // without its identifier, which comes from id
	id      *projectID  // nil outside of a repository
	loaded  *config.Loaded
}

// place finds directories and project, without reading configuration.
func (a *app) place(ctx context.Context) (*workspace, error) {
	directory, err := a.directory()
	if err != nil {
		return nil, err
	}
	d, err := findDirs(a.env, a.flags.dataDir)
	if err != nil {
		return nil, err
	}
	w := &workspace{app: a, dirs: d}
	worktree, git := findWorktree(directory)
	if git {
		w.id = lookUpProject(ctx, worktree, d.data)
	} else {
		worktree = directory
	}
	w.project = sdk.Project{
		ID: globalProject, Directory: directory, Worktree: worktree, Home: d.home, ConfigDir: d.config, DataDir: d.data, CacheDir: d.cache, Git: git,
	}
	return w, nil
}

// configured finds directories and project and reads the configuration. What is secret in it is masked in
// log and errors from then on.
func (a *app) configured(ctx context.Context) (*workspace, error) {
	w, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	env := a.env
	if a.flags.config != "" {
		path, err := filepath.Abs(a.flags.config)
		if err != nil {
			return nil, err
		}
		env = append(append(environ{}, env...), "TENON_CONFIG="+path)
	}
	w.loaded, err = config.Load(ctx, config.Options{
		Directory: w.project.Directory, Worktree: w.project.Worktree, Home: w.dirs.home, ConfigDir: w.dirs.config, Environ: env,
		Managed: a.managed,
	})
	if err != nil {
		return nil, err
	}
	a.mask.hide(append(w.loaded.Secrets, environSecrets(a.env)...))
	if level := w.loaded.Config.LogLevel; level != "" && a.flags.logLevel == "" {
		l, err := parseLevel(level)
		if err != nil {
			return nil, err
		}
		a.level.Set(l)
	}
	for _, warning := range w.loaded.Warnings {
		a.log.Warn(warning.String())
	}
	return w, nil
}

// projectID returns the identifier of the project.
func (w *workspace) projectID() string {
	if w.id != nil {
		w.project.ID = w.id.wait()
	}
	return w.project.ID
}

// openStore opens the session store.
func (w *workspace) openStore(ctx context.Context) (*sqlite.Store, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: w.database(), Version: w.app.version, Logger: w.app.log})
}

func (w *workspace) database() string { return filepath.Join(w.dirs.data, "tenon.db") }

// extensions finds what third parties bring. paths are plugins that the command line names; watch is for who develops them.
func (w *workspace) extensions(ctx context.Context, paths []string, watch bool) (*extensions.Set, error) {
	return extensions.Open(ctx, extensions.Options{
		Project: w.project, Config: w.loaded, Reserved: names(shipped()), Shipped: shippedContributions, Flags: paths, Watch: watch, CacheDir: w.dirs.cache,
		Environ: w.app.env, Version: w.app.version, Logger: w.app.log,
	})
}

func names(list []sdk.Plugin) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.Manifest().Name
	}
	return out
}

// shippedContributions returns the ids of the tools and providers of the plugins that tenon ships.
func shippedContributions() (tools, providers []string) {
	for _, p := range shipped() {
		if source, ok := p.(sdk.ToolSource); ok {
			for _, t := range source.Tools() {
				tools = append(tools, t.Definition().ID)
			}
		}
		if source, ok := p.(sdk.ProviderSource); ok {
			for _, info := range source.Providers() {
				providers = append(providers, info.ID)
			}
		}
	}
	return tools, providers
}

// machine is a host and the store below it.
type machine struct {
	*host.Host
	store     store.Store
	workspace *workspace
	options   hostOptions

	// reload reads the plugins again and puts them in force from the next turn on.
	reload func(context.Context) error
	// Close closes the host, what its plugins shared, and the store.
	Close func(context.Context) error
}

// wired is a machine with what it was made of.
type wired struct {
	*machine
	rules      *projectRules
	extensions []*extensions.Set // those in use, the latest last
	shipped    []sdk.Plugin      // in every generation
}

// hostOptions say how a command uses the host.
type hostOptions struct {
	interactive bool     // the user answers
	auto        bool     // what no rule denies is allowed
	plugins     []string // absolute paths of plugins that the command line names
	watch       bool     // they are being developed
}

// open opens the store and starts the host with the plugins that are approved. The caller closes the machine.
func (w *workspace) open(ctx context.Context, o hostOptions) (*machine, error) {
	return w.app.start(ctx, w, o)
}

// openMachine opens the store and starts the host with the plugins that are approved.
func openMachine(ctx context.Context, w *workspace, o hostOptions) (*machine, error) {
	m, err := w.wire(ctx, o)
	if err != nil {
		return nil, err
	}
	return m.machine, nil
}

// wire is openMachine for those that need what the machine was made of.
func (w *workspace) wire(ctx context.Context, o hostOptions) (*wired, error) {
	w.projectID()
	opened := make(chan struct{})
	var s *sqlite.Store
	var storeErr error
	go func() { // ends with the opening; waited for below
		defer close(opened)
		s, storeErr = w.openStore(ctx)
	}()
	set, err := w.gather(ctx, o)
	<-opened
	switch {
	case err != nil && storeErr == nil:
		return nil, errors.Join(err, s.Close())
	case err != nil:
		return nil, err
	case storeErr != nil:
		return nil, errors.Join(storeErr, set.Close(context.WithoutCancel(ctx)))
	}
	m, err := w.start(ctx, o, set, s)
	if err != nil {
		return nil, errors.Join(err, set.Close(context.WithoutCancel(ctx)))
	}
	if o.interactive {
		if err := m.askReceivers(ctx); err != nil {
			return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
		}
	}
	return m, nil
}

func (w *workspace) start(ctx context.Context, o hostOptions, set *extensions.Set, s *sqlite.Store) (*wired, error) {
	public, err := w.loaded.Redacted()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	required, err := set.Required()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if c := w.loaded.Config.Sandbox; len(c.Write)+len(c.Read)+len(c.Hide) > 0 {
		if _, err := w.sandbox(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	m := &wired{machine: &machine{store: s, workspace: w, options: o}, extensions: []*extensions.Set{set}, shipped: shipped()}
	m.machine.Close, m.machine.reload = m.close, m.reloadPlugins
	options := host.Options{
		Config: withSkills(w.loaded.Config, set.Skills), PublicConfig: withSkills(public, set.Skills), Project: w.project, Store: s,
		Plugins: slices.Concat(m.shipped, set.Plugins), Logger: w.app.log, Version: w.app.version, Environ: w.app.env, Secrets: w.loaded.Secrets, Foreign: w.loaded.Foreign,
		Interactive: o.interactive, AutoApprove: o.auto, Quarantined: set.Quarantined(), Required: required,
		Failures:   set.Failures(),
		Quarantine: func(plugin, reason string) { m.quarantine(ctx, plugin, reason) },
	}
	if m.rules, err = w.permissionOptions(ctx, s, &options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if m.Host, err = host.New(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return m, nil
}

// withSkills adds the skills of packages to a configuration.
func withSkills(c *sdk.Config, dirs []string) *sdk.Config {
	if len(dirs) == 0 {
		return c
	}
	more := *c
	more.Skills.Paths = slices.Concat(c.Skills.Paths, dirs)
	return &more
}

// Close closes the host, then what its plugins shared, then the store.
func (m *wired) close(ctx context.Context) error {
	m.keepFailures(ctx)
	err := m.Host.Close(ctx)
	for _, set := range m.extensions {
		err = errors.Join(err, set.Close(context.WithoutCancel(ctx)))
	}
	if err := errors.Join(err, m.store.Close()); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
