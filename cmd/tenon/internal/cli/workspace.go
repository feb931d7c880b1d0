package cli

import (
	"context"
	"path/filepath"

	"github.com/tenonhq/tenon/builtin"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

// Workspace is the directory a command works in, with its project and configuration.
type Workspace struct {
	App     *App
	Dirs    Dirs
	Project sdk.Project // its ID is set by ProjectID
	id      *projectID  // nil outside of a repository
	Loaded  *config.Loaded
}

// Place finds directories and project without reading the configuration.
func (a *App) Place(ctx context.Context) (*Workspace, error) {
	directory, err := a.Directory()
	if err != nil {
		return nil, err
	}
	d, err := FindDirs(a.Env, a.Flags.DataDir)
	if err != nil {
		return nil, err
	}
	w := &Workspace{App: a, Dirs: d}
	worktree, git := findWorktree(directory)
	if git {
		w.id = lookUpProject(ctx, worktree, d.Data)
	} else {
		worktree = directory
	}
	w.Project = sdk.Project{
		ID: GlobalProject, Directory: directory, Worktree: worktree, Home: d.Home, ConfigDir: d.Config, DataDir: d.Data, CacheDir: d.Cache, Git: git,
	}
	return w, nil
}

// Configured finds directories and project, and reads the configuration. From then on, its secrets are masked in the log and in
// errors.
func (a *App) Configured(ctx context.Context) (*Workspace, error) {
	w, err := a.Place(ctx)
	if err != nil {
		return nil, err
	}
	env := a.Env
	if a.Flags.config != "" {
		path, err := filepath.Abs(a.Flags.config)
		if err != nil {
			return nil, err
		}
		env = append(append(environ{}, env...), "TENON_CONFIG="+path)
	}
	w.Loaded, err = config.Load(ctx, config.Options{
		Directory: w.Project.Directory, Worktree: w.Project.Worktree, Home: w.Dirs.Home, ConfigDir: w.Dirs.Config, Environ: env,
		Managed: a.Managed,
	})
	if err != nil {
		return nil, err
	}
	a.Mask.hide(append(w.Loaded.Secrets, environSecrets(a.Env)...))
	if level := w.Loaded.Config.LogLevel; level != "" && a.Flags.logLevel == "" {
		l, err := parseLevel(level)
		if err != nil {
			return nil, err
		}
		a.Level.Set(l)
	}
	for _, warning := range w.Loaded.Warnings {
		a.Log.Warn(warning.String())
	}
	return w, nil
}

// ProjectID returns the ID of the project. It waits until the ID is known.
func (w *Workspace) ProjectID() string {
	if w.id != nil {
		w.Project.ID = w.id.wait()
	}
	return w.Project.ID
}

// Scope returns the query for sessions of this project: its ID, or its directory outside a repository.
func (w *Workspace) Scope() (projectID, directory string) {
	if id := w.ProjectID(); id != GlobalProject {
		return id, ""
	}
	return "", w.Project.Directory
}

// ApprovalProject returns the project under which approvals are stored.
func (w *Workspace) ApprovalProject() string {
	w.ProjectID()
	return host.ApprovalProject(w.Project)
}

// OpenStore opens the session store.
func (w *Workspace) OpenStore(ctx context.Context) (*sqlite.Store, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: w.Database(), Version: w.App.Version, Logger: w.App.Log})
}

// Database returns the path of the session store.
func (w *Workspace) Database() string { return filepath.Join(w.Dirs.Data, "tenon.db") }

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
	return extensions.Options{
		Project: w.Project, Config: w.Loaded, Reserved: names(Shipped()), Shipped: shippedContributions, CacheDir: w.Dirs.Cache,
		Environ: w.App.Env, Version: w.App.Version, Logger: w.App.Log,
	}
}

// Shipped returns the built-in plugins. Their order is the default order of their hooks.
func Shipped() []sdk.Plugin { return builtin.All() }

// ShippedNames returns the names of the built-in plugins.
func ShippedNames() map[string]bool {
	out := map[string]bool{}
	for _, n := range names(Shipped()) {
		out[n] = true
	}
	return out
}

// shippedContributions returns the IDs of the built-in tools and providers.
func shippedContributions() (tools, providers []string) {
	for _, p := range Shipped() {
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

func names(list []sdk.Plugin) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.Manifest().Name
	}
	return out
}
