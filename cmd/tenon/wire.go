package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

// wired is a machine and its parts.
type wired struct {
	*cli.Machine
	rules      *projectRules
	extensions atomic.Pointer[extensions.Set] // of the current generation
	shipped    []sdk.Plugin                   // built-in plugins, part of every generation
	reloading  sync.Mutex                     // held while plugins are reloaded
	unloaded   string                         // the reason why the latest changes are not loaded; empty if they are loaded
}

// openMachine opens the store and starts the host with the approved plugins.
func openMachine(ctx context.Context, w *cli.Workspace, o cli.HostOptions) (*cli.Machine, error) {
	m, err := wire(ctx, w, o)
	if err != nil {
		return nil, err
	}
	return m.Machine, nil
}

// wire is openMachine, but also returns the parts of the machine.
func wire(ctx context.Context, w *cli.Workspace, o cli.HostOptions) (*wired, error) {
	w.ProjectID()
	var s *sqlite.Store
	var storeErr error
	var opening sync.WaitGroup
	opening.Go(func() { s, storeErr = w.OpenStore(ctx, sqlite.Options{}) }) // ends with the opening; waited for below
	set, err := gather(ctx, w, o)
	opening.Wait()
	var m *wired
	if err = cmp.Or(err, storeErr); err == nil {
		m, err = startHost(ctx, w, o, set, s)
	}
	if err != nil {
		if set != nil {
			err = errors.Join(err, set.Discard(ctx))
		}
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	if o.Interactive {
		if err := m.askReceivers(ctx); err != nil {
			return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
		}
	}
	return m, nil
}

// startHost starts the host with the plugins of the set.
func startHost(ctx context.Context, w *cli.Workspace, o cli.HostOptions, set *extensions.Set, s *sqlite.Store) (*wired, error) {
	public, err := w.Loaded.Redacted()
	if err != nil {
		return nil, err
	}
	required, _, _ := set.Required() // gather returns its error
	if c := w.Loaded.Config.Sandbox; len(c.Write)+len(c.Read)+len(c.Hide) > 0 {
		if _, err := w.Sandbox(); err != nil {
			return nil, err
		}
	}
	m := &wired{Machine: &cli.Machine{Store: s, Workspace: w, Options: o}, shipped: cli.Shipped()}
	m.extensions.Store(set)
	m.Machine.Close, m.Machine.Reload, m.Machine.Refresh = m.close, m.reloadPlugins, m.refreshPlugins
	options := host.Options{
		Config: withSkills(w.Loaded.Config, set.Skills), PublicConfig: withSkills(public, set.Skills), Project: w.Project, Store: s,
		Logger: w.App.Log, Version: w.App.Version, Environ: w.App.Env, Secrets: w.Loaded.Secrets, UserSecrets: w.Loaded.UserSecrets, Foreign: w.Loaded.Foreign,
		Interactive: o.Interactive, AutoApprove: o.Auto, SignIn: w.SignIn, ReloadOptions: m.pluginsOf(ctx, set, required),
	}
	options.Failures = set.Failures()
	if m.rules, err = permissionOptions(ctx, w, s, &options); err != nil {
		return nil, err
	}
	m.Host, err = host.New(ctx, options)
	return m, err
}

// withSkills adds the skills of packages to a configuration.
func withSkills(c *sdk.Config, list []sdk.PackagedSkill) *sdk.Config {
	more := *c
	more.Skills.Packaged = list
	return &more
}

// close closes the host, then the store.
func (m *wired) close(ctx context.Context) error {
	m.keepFailures(ctx)
	if err := errors.Join(m.Host.Close(ctx), m.Store.Close()); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
